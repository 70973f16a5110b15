#include "train/plot_script.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::train {

namespace {

constexpr std::size_t most_points = 3000;  // more than the picture has columns
constexpr std::size_t most_labels = 6;     // of restarts: more would hide the curves
constexpr std::size_t few_points = 40;     // are drawn as points, too: one alone makes no line
constexpr double label_rows = 3;           // neighbours must not write over each other
constexpr double narrow = 0.07;            // of the picture: no room for a stretch's label

// Single quotes: gnuplot runs nothing in them, not even backquotes.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') result += '\'';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + '\'';
}

std::string bands(const Attempts& attempts, double last_step) {
  std::string script;
  int number = 0;
  for (const Stretch& stretch : attempts.stretches) {
    script += fmt::format(
        "set object {} rectangle from {}, graph 0 to {}, graph 1 behind fillstyle solid 1 noborder "
        "fillcolor rgb '{}'\n",
        number + 1, stretch.from, stretch.to, number % 2 == 0 ? "#f3f6fa" : "#e4ecf5");
    ++number;
    if (static_cast<double>(stretch.to - stretch.from) < narrow * last_step) continue;
    script += fmt::format("set label {} at {}, graph 0.955 center textcolor rgb '#5a6b7d' noenhanced\n",
                          quoted(stretch.ranks), static_cast<double>(stretch.from + stretch.to) / 2);
  }
  return script;
}

std::string borders(const Attempts& attempts, double last_step) {
  std::string script;
  const bool labels = attempts.restarts.size() <= most_labels;
  double row = 0;
  for (const Restart& restart : attempts.restarts) {
    const double top = labels ? 0.90 - 0.11 * row : 1.0;
    script += fmt::format(
        "set arrow from {0}, graph 0 to {0}, graph {1} nohead linecolor rgb '#b03030' dashtype 2 linewidth "
        "1.5\n",
        restart.step, labels ? top - 0.06 : top);
    row = row + 1 < label_rows ? row + 1 : 0;
    if (!labels) continue;
    // A label at the edge must not leave the picture.
    const double place = static_cast<double>(restart.step) / last_step;
    const char* side = place < 0.15 ? "left" : place > 0.85 ? "right" : "center";
    double height = top;
    for (const std::string& text :
         {fmt::format("step {}: {}", restart.step, restart.ending), restart.going_on}) {
      script += fmt::format("set label {} at {}, graph {} {} textcolor rgb '#b03030' noenhanced\n",
                            quoted(text), restart.step, height, side);
      height -= 0.04;
    }
  }
  return script;
}

// The top of the y axis: a wild first step must not flatten all that follows.
double top_of(const std::vector<Curve>& curves) {
  double top = 0;
  for (const Curve& curve : curves) {
    if (curve.points.empty()) continue;
    std::vector<double> values;
    for (const Point& point : curve.points) values.push_back(point.value);
    std::sort(values.begin(), values.end());
    const double quartile = values[values.size() * 3 / 4];
    top = std::max(top, quartile > 0 ? std::min(values.back(), 4 * quartile) : values.back());
  }
  return top;
}

std::string style_of(const Curve& curve, std::size_t strong) {
  const bool few = curve.points.size() <= few_points;
  switch (curve.style) {
    case Curve::Style::faint:
      return fmt::format("with {} pointtype 7 pointsize 0.5 linecolor rgb '#b7cbe0'",
                         few ? "linespoints" : "lines");
    case Curve::Style::strong:
      return fmt::format("with {} pointtype 7 pointsize 0.7 linewidth 2.5 linecolor rgb '{}'",
                         few ? "linespoints" : "lines", strong == 0 ? "#1f5fa5" : "#8a5fa8");
    case Curve::Style::marked:
      break;
  }
  return "with linespoints pointtype 7 pointsize 1.1 linewidth 1.5 linecolor rgb '#2e8b57'";
}

// An empty line ends a line of the picture.
std::string points_text(const Series& points, const std::vector<double>& missing) {
  std::string text;
  for (const Series& piece : pieces(points, missing)) {
    if (!text.empty()) text += '\n';
    const std::size_t share = most_points * piece.size() / points.size();
    for (const Point& point : thinned(piece, std::max<std::size_t>(1, share))) {
      text += fmt::format("{} {}\n", point.step, point.value);
    }
  }
  return text;
}

}  // namespace

std::string plot_script(const Picture& picture, const Attempts& attempts, std::int64_t last_step,
                        const std::string& png) {
  const auto end = static_cast<double>(std::max<std::int64_t>(1, last_step));
  const double top = picture.percent ? 100 : top_of(picture.curves);
  const bool marks = attempts.stretches.size() > 1 || !attempts.restarts.empty();
  std::string script = fmt::format(
      "set terminal pngcairo size 1100,560 font 'DejaVu Sans,11' background rgb 'white'\n"
      "set output {}\n"
      "set title {} noenhanced font ',13'\n"
      "set xlabel 'optimizer step'\n"
      "set ylabel {}\n"
      "set xrange [0:{}]\n"
      "set yrange [0:{}]\n"
      "set grid ytics linecolor rgb '#d0d0d0'\n"
      "set border 3 linecolor rgb '#808080'\n"
      "set tics nomirror\n"
      "set format x '%.0f'\n"
      "set bmargin 5.5\n"
      "set rmargin 4\n"
      "set key at screen 0.5, 0.035 center horizontal samplen 2\n",
      quoted(png),
      quoted(attempts.restarts.size() > most_labels
                 ? fmt::format("{} ({} restarts)", picture.title, attempts.restarts.size())
                 : picture.title),
      quoted(picture.y_label), end,
      // Room for what is written above the curves.
      top > 0 ? fmt::format("{}", (marks ? 1.35 : 1.1) * top) : "*");
  constexpr double countable = 10;  // between the first few steps there is nothing
  if (end <= countable) script += "set xtics 1\n";
  if (picture.percent) script += "set ytics 0, 20, 100\n";
  script += bands(attempts, end) + borders(attempts, end);

  std::string plots;
  int number = 0;
  std::size_t strong = 0;
  for (const Curve& curve : picture.curves) {
    if (curve.points.empty()) continue;
    const std::string name = fmt::format("$data{}", ++number);
    script += fmt::format("{} << END\n", name);
    script += points_text(curve.points, picture.missing) + "END\n";
    plots += fmt::format("{}{} using 1:2 {} title {} noenhanced", plots.empty() ? "" : ", ", name,
                         style_of(curve, strong), quoted(curve.title));
    if (curve.style == Curve::Style::strong) ++strong;
  }
  return script + "plot " + plots + "\n";
}

}  // namespace lockstep::train
