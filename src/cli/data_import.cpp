#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <cmath>
#include <iostream>
#include <string_view>

#include "cli/data.h"
#include "core/error.h"
#include "data/dataset.h"
#include "data/import_idx.h"

namespace lockstep::cli {

namespace po = boost::program_options;

namespace {

[[noreturn]] void usage(const std::string& text) {
  throw Error(ExitCode::usage, text + "; see lockstep data import idx --help");
}

po::options_description idx_options() {
  po::options_description options("Options", 100);
  auto add = options.add_options();
  add("images", po::value<std::string>()->required()->value_name("FILE"),
      "images, IDX of unsigned bytes, plain or gzip'd");
  add("labels", po::value<std::string>()->required()->value_name("FILE"),
      "labels, IDX of unsigned bytes, plain or gzip'd");
  add("out", po::value<std::string>()->required()->value_name("DIR"),
      "folder of the shards; must be absent or empty");
  add("shards", po::value<std::int64_t>()->default_value(1)->value_name("N"),
      "number of shards, of equal size");
  add("classes", po::value<std::int64_t>()->value_name("N"),
      "number of classes; default: the largest label + 1");
  add("scale", po::value<double>()->value_name("S"), "bytes are multiplied by this; default: 1/255");
  add("mean", po::value<double>()->value_name("M"), "subtracted after that; default: the mean of the images");
  add("std", po::value<double>()->value_name("D"),
      "divided by after that; default: the deviation of the images");
  add("normalise-from", po::value<std::string>()->value_name("DIR"),
      "take scale, mean, std and, without --classes, the classes from the shards in DIR: for a test split, "
      "those of "
      "the training split");
  add("help,h", "this text");
  return options;
}

po::variables_map parse(const po::options_description& options, std::span<const std::string> args) {
  po::variables_map values;
  try {
    po::store(po::command_line_parser(std::vector<std::string>(args.begin(), args.end()))
                  .options(options)
                  .positional({})
                  .run(),
              values);
    if (values.count("help") == 0) po::notify(values);
  } catch (const po::error& error) {
    usage(error.what());
  }
  return values;
}

template <typename T>
std::optional<T> given(const po::variables_map& values, const char* name) {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<T>();
}

data::IdxImport idx_job(const po::variables_map& values) {
  data::IdxImport job;
  job.images = values["images"].as<std::string>();
  job.labels = values["labels"].as<std::string>();
  job.out = values["out"].as<std::string>();
  job.shards = values["shards"].as<std::int64_t>();
  job.classes = given<std::int64_t>(values, "classes");
  job.scale = given<double>(values, "scale").value_or(job.scale);
  job.mean = given<double>(values, "mean");
  job.std = given<double>(values, "std");
  if (const auto from = given<std::string>(values, "normalise-from")) {
    if (values.count("scale") + values.count("mean") + values.count("std") > 0) {
      usage("--normalise-from and --scale, --mean or --std exclude each other");
    }
    const data::Dataset other = data::Dataset::open(*from);
    const data::Normalisation& normal = other.normalisation();
    if (normal.groups() > 1) {
      usage(fmt::format(
          "the shards in {} have {} channels with values of their own, IDX images have one channel", *from,
          normal.groups()));
    }
    job.scale = normal.scale;
    job.mean = normal.mean.front();
    job.std = normal.std.front();
    if (!job.classes && other.classes() > 0) job.classes = other.classes();
  }
  if (job.shards < 1) usage(fmt::format("--shards is {}, wanted at least 1", job.shards));
  if (job.classes && *job.classes < 1) usage(fmt::format("--classes is {}, wanted at least 1", *job.classes));
  if (!std::isfinite(job.scale) || job.scale == 0)
    usage(fmt::format("--scale is {}, wanted a number that is not 0", job.scale));
  if (job.mean && !std::isfinite(*job.mean)) usage(fmt::format("--mean is {}, wanted a number", *job.mean));
  if (job.std && !(std::isfinite(*job.std) && *job.std > 0))
    usage(fmt::format("--std is {}, wanted a number above 0", *job.std));
  return job;
}

int import_idx_command(std::span<const std::string> args) {
  const auto options = idx_options();
  const auto values = parse(options, args);
  if (values.count("help") > 0) {
    std::cout << "lockstep data import idx --images FILE --labels FILE --out DIR [options]\n\n"
                 "Turns a pair of IDX files (MNIST, Fashion-MNIST, KMNIST, EMNIST) into HDF5 shards.\n"
                 "All shards appear at once; after an error there is none.\n\n"
              << options;
    return static_cast<int>(ExitCode::finished);
  }
  const data::IdxImport job = idx_job(values);
  const data::IdxImported result = data::import_idx(job);
  fmt::print("{}: {} samples of {} classes in {} shards, mean {:.6g}, std {:.6g}\n", job.out.string(),
             result.samples, result.classes, job.shards, result.mean, result.std);
  return static_cast<int>(ExitCode::finished);
}

// Adding a format: its function in src/data, its options here, and one line.
struct Importer {
  std::string_view name;
  std::string_view summary;
  int (*run)(std::span<const std::string> args);
};

constexpr std::array<Importer, 1> kImporters = {{
    {"idx", "images and labels of the MNIST family", import_idx_command},
}};

}  // namespace

int data_import_command(std::span<const std::string> args) {
  if (!args.empty()) {
    const auto importer = std::find_if(kImporters.begin(), kImporters.end(),
                                       [&](const Importer& i) { return i.name == args.front(); });
    if (importer != kImporters.end()) return importer->run(args.subspan(1));
  }
  const bool help = !args.empty() && (args.front() == "--help" || args.front() == "-h");
  std::string formats;
  for (const Importer& importer : kImporters) {
    formats += help ? fmt::format("  {:<8} {}\n", importer.name, importer.summary)
                    : fmt::format(" {}", importer.name);
  }
  if (help) {
    fmt::print(
        "lockstep data import FORMAT ...\n\nFormats (lockstep data import FORMAT --help says more):\n{}",
        formats);
    return static_cast<int>(ExitCode::finished);
  }
  throw Error(ExitCode::usage,
              args.empty() ? fmt::format("lockstep data import needs a format, one of:{}", formats)
                           : fmt::format("lockstep data import does not know the format '{}'; it knows:{}",
                                         args.front(), formats));
}

}  // namespace lockstep::cli
