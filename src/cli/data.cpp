#include "cli/data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "data/dataset.h"
#include "data/verify.h"

namespace lockstep::cli {

namespace {

constexpr std::string_view kHelp =
    R"(lockstep data: make, look at and check datasets

  lockstep data import FORMAT ...   turn files of another format into shards
                                    (lockstep data import --help lists the formats)
  lockstep data info DIR            what a split holds: shards, shapes, classes, normalisation
  lockstep data verify DIR          read all of a split: labels, targets, numbers; exit code 65
                                    where anything is wrong, each fault in one line

DIR is the folder of one split, such as DATASET/train, with *.h5 files in it.
docs/shard-format.md describes them.
)";

const char* layout_name(const data::Column& column) {
  switch (column.layout) {
    case data::Layout::contiguous:
      return "contiguous";
    case data::Layout::compact:
      return "compact";
    case data::Layout::chunked:
      return "chunked";
  }
  return "";
}

std::string layout_text(const data::Column& column) {
  std::string text = layout_name(column);
  if (column.chunk_rows > 0) text += fmt::format(" by {} rows", column.chunk_rows);
  if (!column.filters.empty()) text += ", " + column.filters;
  return text;
}

// One number, or as many as there are channels: "[0.5, 0.4, 0.4]".
std::string values_text(const std::vector<double>& values) {
  if (values.size() == 1) return fmt::format("{:.8g}", values.front());
  return fmt::format("[{:.8g}]", fmt::join(values, ", "));
}

void print_class_counts(const data::Dataset& dataset) {
  fmt::print("\nclass    samples\n");
  const auto counts = data::class_counts(dataset);
  for (std::size_t label = 0; label < counts.size(); ++label) {
    fmt::print("{:>5}  {:>9}\n", label, counts[label]);
  }
}

int info(const std::string& folder) {
  const data::Dataset dataset = data::Dataset::open(folder);
  const data::Normalisation& normal = dataset.normalisation();
  fmt::print("dataset        {}\n", folder);
  fmt::print("samples        {} in {} shards, {}\n", dataset.size(), dataset.shards().size(),
             human_bytes(static_cast<double>(dataset.bytes())));
  fmt::print("sample         {} of {}\n", data::shape_text(dataset.sample_shape()),
             data::name_of(dataset.element_type()));
  fmt::print("normalisation  (x * {:.8g} - {}) / {}\n", normal.scale, values_text(normal.mean),
             values_text(normal.std));
  if (dataset.target_width() > 0) fmt::print("targets        {} a sample\n", dataset.target_width());
  fmt::print("fingerprint    {:016x}\n", dataset.fingerprint());

  std::size_t width = 5;
  for (const data::Shard& shard : dataset.shards()) {
    width = std::max(width, shard.file.filename().string().size());
  }
  fmt::print("\n{:<{}}  {:>9}  {:>9}  {:<8} {}\n", "shard", width, "first id", "rows", "y", "layout of x");
  for (const data::Shard& shard : dataset.shards()) {
    fmt::print("{:<{}}  {:>9}  {:>9}  {:<8} {}\n", shard.file.filename().string(), width, shard.first_id,
               shard.rows(), data::name_of(shard.y.type), layout_text(shard.x));
  }

  if (dataset.target_width() == 0) print_class_counts(dataset);
  return static_cast<int>(ExitCode::finished);
}

int verify(const std::string& folder) {
  const data::Verified result = data::verify(folder);
  for (const std::string& fault : result.faults) fmt::print("{}\n", fault);
  if (!result.faults.empty()) {
    fmt::print("{}: {} faults in {} shards\n", folder, result.faults.size(), result.shards);
    return static_cast<int>(ExitCode::bad_data);
  }
  fmt::print("{}: OK, {} samples in {} shards\n", folder, result.samples, result.shards);
  return static_cast<int>(ExitCode::finished);
}

struct Action {
  std::string_view name;
  int (*run)(const std::string& folder);
};

constexpr std::array<Action, 2> kActions = {{{"info", info}, {"verify", verify}}};

bool asks_for_help(std::span<const std::string> args) {
  return std::any_of(args.begin(), args.end(),
                     [](const std::string& arg) { return arg == "--help" || arg == "-h"; });
}

}  // namespace

int data_command(std::span<const std::string> args) {
  if (!args.empty() && args.front() == "import") return data_import_command(args.subspan(1));
  if (asks_for_help(args)) {
    fmt::print("{}", kHelp);
    return static_cast<int>(ExitCode::finished);
  }
  if (args.empty()) throw Error(ExitCode::usage, "lockstep data needs import, info or verify; see --help");
  const auto action =
      std::find_if(kActions.begin(), kActions.end(), [&](const Action& a) { return a.name == args.front(); });
  if (action == kActions.end()) {
    throw Error(
        ExitCode::usage,
        fmt::format("lockstep data has no command '{}'; it has import, info and verify", args.front()));
  }
  if (args.size() != 2) {
    throw Error(ExitCode::usage, fmt::format("lockstep data {} takes one folder, got {} words", action->name,
                                             args.size() - 1));
  }
  return action->run(args[1]);
}

}  // namespace lockstep::cli
