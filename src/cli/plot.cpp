#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "core/error.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "train/curves.h"
#include "train/plot_script.h"
#include "train/run_folder.h"

namespace lockstep::cli {

namespace fs = std::filesystem;
namespace po = boost::program_options;

namespace {

using train::Curve;
using train::Picture;
using train::Series;

constexpr std::chrono::seconds gnuplot_limit{120};

struct NamedPicture {
  std::string file;
  Picture picture;
};

Series in_percent(Series series) {
  for (train::Point& point : series) point.value *= 100;
  return series;
}

// Each step faintly, their mean strongly, and the test split's points; nothing where there is nothing.
std::vector<Curve> with_mean(const std::string& what, const Series& each, const std::string& test_what,
                             const Series& test) {
  return {{fmt::format("{} of each step", what), each, Curve::Style::faint},
          {fmt::format("{}, smoothed", what), train::smoothed(each), Curve::Style::strong},
          {test_what, test, Curve::Style::marked}};
}

// Draws into a name of its own first: who looks at the picture sees the old one or the new one.
void draw(const Picture& picture, const train::Attempts& attempts, std::int64_t last_step,
          const fs::path& png) {
  struct Temporary {
    fs::path path;
    ~Temporary() {
      std::error_code ignored;
      fs::remove(path, ignored);
    }
  };
  const auto hidden = [&](std::string_view ending) {
    return png.parent_path() / fmt::format(".{}.{}", png.stem().string(), ending);
  };
  const Temporary script{hidden("gnuplot")};
  const Temporary drawn{hidden("png")};
  replace_text(script.path, train::plot_script(picture, attempts, last_step, drawn.path.string()));
  const CommandResult result = run_command({"gnuplot", script.path.string()}, gnuplot_limit);
  if (result.exit_code == 127) {
    throw Error(ExitCode::missing_input,
                "lockstep plot: gnuplot is not in PATH; on Debian: apt-get install gnuplot-nox");
  }
  if (!result.ok()) {
    throw Error(ExitCode::cannot_create,
                fmt::format("lockstep plot: gnuplot {}: {}", result.timed_out ? "did not end" : "failed",
                            trim(result.output)));
  }
  rename_durably(drawn.path, png);
}

void plot(const fs::path& run, const fs::path& out) {
  const train::RunFolder folder(run);
  const auto metrics = read_text(folder.metrics());
  if (!metrics) {
    throw Error(ExitCode::missing_input,
                fmt::format("lockstep plot: there is no {}: is {} a run folder (run.dir)?",
                            folder.metrics().string(), run.string()));
  }
  const std::string tests = read_text(folder.evaluations()).value_or("");
  const Series samples = train::column(*metrics, "samples");
  if (samples.empty()) {
    throw Error(ExitCode::bad_data,
                fmt::format("lockstep plot: {} has no steps yet", folder.metrics().string()));
  }
  const auto last_step = static_cast<std::int64_t>(samples.back().step);
  const Series rate = train::throughput(*metrics, read_text(folder.timings()).value_or(""));
  const std::string name = fs::weakly_canonical(run).filename().string();
  std::vector<NamedPicture> pictures = {
      {"loss.png",
       {name + ": loss", "loss",
        with_mean("training loss", train::column(*metrics, "loss"), "test loss",
                  train::column(tests, "loss"))}},
      {"accuracy.png",
       {name + ": accuracy", "accuracy (%)",
        with_mean("training accuracy", in_percent(train::column(*metrics, "accuracy")), "test accuracy",
                  in_percent(train::column(tests, "accuracy"))),
        true}},
      {"learning_rate.png",
       {name + ": learning rate",
        "learning rate",
        {{"learning rate", train::column(*metrics, "learning_rate"), Curve::Style::strong}}}},
      {"throughput.png",
       {name + ": throughput",
        "samples per second",
        {{"samples/s of each step", rate, Curve::Style::faint},
         {"samples/s, smoothed", train::smoothed_rate(rate), Curve::Style::strong}}}},
  };
  const auto attempts = train::attempts_of(read_text(folder.events()).value_or(""), last_step);
  make_folders(out);
  const std::vector<double> missing = train::missing_steps(*metrics);
  for (NamedPicture& each : pictures) {
    each.picture.missing = missing;
    const bool empty = std::all_of(each.picture.curves.begin(), each.picture.curves.end(),
                                   [](const Curve& curve) { return curve.points.empty(); });
    if (empty) continue;
    draw(each.picture, attempts, last_step, out / each.file);
    fmt::print("{}\n", (out / each.file).string());
  }
}

}  // namespace

int plot_command(std::span<const std::string> args) {
  po::options_description options("Options");
  std::string run;
  std::string out;
  options.add_options()("help,h", "print this help")("run", po::value(&run)->value_name("DIR"),
                                                     "the run folder (also as the only plain word)")(
      "out", po::value(&out)->value_name("DIR"), "where the pictures go; by default RUN_DIR/plots");
  const po::variables_map given = parse_arguments(args, options, "lockstep plot", 1);
  if (given.count("help") != 0) {
    std::ostringstream text;
    text << options;
    fmt::print(
        "usage: lockstep plot RUN_DIR [--out DIR]\n\n"
        "Draws loss, accuracy, learning rate and throughput of a run, live or ended, as PNG files (with "
        "gnuplot),\n"
        "the restarts marked. Prints the files' names.\n"
        "Exit codes: 0 drawn, 65 no steps yet, 66 no such run, or no gnuplot.\n\n{}",
        text.str());
    return 0;
  }
  if (run.empty()) throw Error(ExitCode::usage, "lockstep plot: usage: lockstep plot RUN_DIR [--out DIR]");
  plot(run, out.empty() ? fs::path(run) / "plots" : fs::path(out));
  return 0;
}

}  // namespace lockstep::cli
