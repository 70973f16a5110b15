#include "train/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/text.h"

namespace lockstep::train {

namespace {

// The whole lines of a text, cut into fields.
std::vector<std::vector<std::string>> rows_of(std::string_view csv) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : split(csv.substr(0, csv.rfind('\n') + 1), '\n')) {
    if (!line.empty()) rows.push_back(split(line, ','));
  }
  return rows;
}

// "stopped (signal TERM)": how many ranks it was does not fit into a picture.
std::string short_reason(const std::string& reason) {
  return reason.substr(0, reason.find(" on "));
}

}  // namespace

Series column(std::string_view csv, std::string_view name) {
  Series series;
  const auto rows = rows_of(csv);
  if (rows.empty()) return series;
  const auto at = static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (at >= rows[i].size()) continue;
    const auto step = parse_double(rows[i][0]);
    const auto value = parse_double(rows[i][at]);
    if (step && value) series.push_back({*step, *value});
  }
  return series;
}

std::vector<double> missing_steps(std::string_view metrics) {
  std::vector<double> missing;
  const auto rows = rows_of(metrics);
  if (rows.empty()) return missing;
  const auto at =
      static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), "loss") - rows[0].begin());
  std::optional<double> before;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto step = parse_double(rows[i][0]);
    if (!step) continue;
    if (before && *step > *before + 1) missing.push_back(*before + 1);
    if (at < rows[i].size() && rows[i][at].empty()) missing.push_back(*step);
    before = step;
  }
  return missing;
}

std::vector<Series> pieces(const Series& series, const std::vector<double>& missing) {
  std::vector<Series> result;
  for (const Point& point : series) {
    const auto after = result.empty()
                           ? missing.end()
                           : std::upper_bound(missing.begin(), missing.end(), result.back().back().step);
    const bool gap = after != missing.end() && *after < point.step;
    if (gap || result.empty()) result.emplace_back();
    result.back().push_back(point);
  }
  return result;
}

Series throughput(std::string_view metrics, std::string_view timings) {
  std::map<double, double> samples_of;
  Point before{0, 0};
  for (const Point& now : column(metrics, "samples")) {
    // Where rows were lost, the samples are those of several steps.
    if (now.step == before.step + 1) samples_of[now.step] = now.value - before.value;
    before = now;
  }
  Series series;
  for (const auto& [step, seconds] : column(timings, "seconds")) {
    const auto at = samples_of.find(step);
    if (at != samples_of.end() && at->second > 0 && seconds > 0)
      series.push_back({step, at->second / seconds});
  }
  return series;
}

Series thinned(const Series& series, std::size_t most) {
  if (series.size() <= most) return series;
  Series result;
  for (std::size_t bin = 0; bin < most; ++bin) {
    const std::size_t first = series.size() * bin / most;
    const std::size_t last = series.size() * (bin + 1) / most;
    Point sum{0, 0};
    for (std::size_t i = first; i < last; ++i) {
      sum.step += series[i].step;
      sum.value += series[i].value;
    }
    const auto count = static_cast<double>(last - first);
    result.push_back({sum.step / count, sum.value / count});
  }
  return result;
}

Series smoothed(const Series& series) {
  constexpr std::size_t windows = 40;
  const std::size_t half = series.size() / (2 * windows);
  std::vector<double> sums{0};
  for (const Point& point : series) sums.push_back(sums.back() + point.value);
  Series result;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::size_t reach = std::min({half, i, series.size() - 1 - i});
    result.push_back(
        {series[i].step, (sums[i + reach + 1] - sums[i - reach]) / static_cast<double>(2 * reach + 1)});
  }
  return result;
}

Series smoothed_rate(const Series& rate) {
  Series seconds = rate;
  for (Point& point : seconds) point.value = 1 / point.value;
  Series result = smoothed(seconds);
  for (Point& point : result) point.value = 1 / point.value;
  return result;
}

Attempts attempts_of(std::string_view events, std::int64_t last_step) {
  Attempts attempts;
  std::set<std::int64_t> seen;
  Stretch current{0, 0, ""};
  std::string ending = "broke off";
  double ended = 0;
  const auto close = [&](std::int64_t until) {
    if (until > current.from && !current.ranks.empty())
      attempts.stretches.push_back({current.from, until, current.ranks});
  };
  for (const auto& row : rows_of(events)) {
    constexpr std::size_t columns = 4;
    if (row.size() < columns) continue;
    const std::string& name = row[2];
    const auto step = parse_int(row[0]).value_or(0);
    const auto time = parse_double(row[1]).value_or(0);
    const auto details = split(row[3], ';');
    const std::string detail = details.empty() ? "" : details[0];
    if (name == "stopped" || name == "finished") {
      ending = fmt::format("{} ({})", name, short_reason(detail));
      ended = time;
    } else if (name == "failed") {
      ending = fmt::format("{} ({})", name, detail);
      ended = time;
    } else if (name == "started" || name == "resumed") {
      close(std::min(step, last_step));
      if (!current.ranks.empty() && step < last_step && seen.insert(step).second) {
        attempts.restarts.push_back(
            {step, ending,
             ended > 0 ? fmt::format("went on {} later", human_seconds(time - ended)) : "went on from here"});
      }
      const auto words = split(detail, ' ');
      const std::string ranks = words.empty() ? "?" : words[0];
      current = {step, step, fmt::format("{} {}", ranks, ranks == "1" ? "rank" : "ranks")};
      ending = "broke off";
      ended = 0;
    }
  }
  close(last_step);
  return attempts;
}

}  // namespace lockstep::train
