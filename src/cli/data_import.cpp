#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <iostream>
#include <string_view>

#include "cli/data.h"
#include "core/error.h"
#include "core/utf8.h"
#include "data/dataset.h"
#include "data/importer.h"

namespace lockstep::cli {

namespace po = boost::program_options;

namespace {

po::options_description describe(const data::Importer& importer) {
  using Kind = data::ImportOption::Kind;
  po::options_description options("Options", 100);
  auto add = options.add_options();
  for (const data::ImportOption& option : importer.options) {
    const std::string name(option.name);
    auto* value = po::value<std::vector<std::string>>()->value_name(std::string(option.value));
    if (option.kind == Kind::repeated) value->composing()->multitoken();
    if (option.kind != Kind::optional) value->required();
    add(name.c_str(), value, std::string(option.help).c_str());
  }
  add("out", po::value<std::string>()->required()->value_name("DIR"),
      "folder of the shards; must be absent or empty");
  add("shards", po::value<std::int64_t>()->default_value(1)->value_name("N"),
      "number of shards, of equal size");
  add("classes", po::value<std::int64_t>()->value_name("N"),
      "number of classes; default: the largest label + 1");
  add("scale", po::value<double>()->value_name("S"),
      "stored numbers are multiplied by this; default: 1/255 for bytes, or else 1");
  add("mean", po::value<double>()->value_name("M"), "subtracted after that; default: measured");
  add("std", po::value<double>()->value_name("D"), "divided by after that; default: measured");
  add("normalise-from", po::value<std::string>()->value_name("DIR"),
      "take scale, mean, std and, without --classes, the classes from the shards in DIR: for a test split, "
      "those of the training split");
  add("help,h", "this text");
  return options;
}

po::variables_map parse(const po::options_description& options, std::span<const std::string> args) {
  po::variables_map values;
  try {
    po::store(po::command_line_parser(std::vector<std::string>(args.begin(), args.end()))
                  .options(options)
                  .positional({})
                  .style(po::command_line_style::default_style & ~po::command_line_style::allow_guessing)
                  .run(),
              values);
    if (values.count("help") == 0) po::notify(values);
  } catch (const po::error& error) {
    throw Error(ExitCode::usage, error.what());
  }
  return values;
}

template <typename T>
std::optional<T> given(const po::variables_map& values, const char* name) {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<T>();
}

std::optional<std::vector<double>> as_list(const std::optional<double>& value) {
  if (!value) return std::nullopt;
  return std::vector<double>{*value};
}

data::ImportTarget target_of(const po::variables_map& values) {
  const auto refuse = [](const std::string& text) { throw Error(ExitCode::usage, text); };
  data::ImportTarget target;
  target.out = values["out"].as<std::string>();
  target.shards = values["shards"].as<std::int64_t>();
  target.classes = given<std::int64_t>(values, "classes");
  target.scale = given<double>(values, "scale");
  const auto mean = given<double>(values, "mean");
  const auto std = given<double>(values, "std");
  target.mean = as_list(mean);
  target.std = as_list(std);
  target.like = given<std::string>(values, "normalise-from").value_or("");
  if (target.shards < 1) refuse(fmt::format("--shards is {}, wanted at least 1", target.shards));
  if (target.classes && *target.classes < 1)
    refuse(fmt::format("--classes is {}, wanted at least 1", *target.classes));
  if (target.scale && (!std::isfinite(*target.scale) || *target.scale == 0))
    refuse(fmt::format("--scale is {}, wanted a number that is not 0", *target.scale));
  if (mean && !std::isfinite(*mean)) refuse(fmt::format("--mean is {}, wanted a number", *mean));
  if (std && !(std::isfinite(*std) && *std > 0))
    refuse(fmt::format("--std is {}, wanted a number above 0", *std));
  if (!target.like.empty()) {
    if (target.scale || mean || std) {
      refuse("--normalise-from and --scale, --mean or --std exclude each other");
    }
    const data::Dataset other = data::Dataset::open(target.like);
    target.like_shape = other.sample_shape();
    target.like_names = other.names();
    target.scale = other.normalisation().scale;
    target.mean = other.normalisation().mean;
    target.std = other.normalisation().std;
    if (!target.classes && other.classes() > 0) target.classes = other.classes();
  }
  return target;
}

data::ImportArguments arguments_of(const data::Importer& importer, const po::variables_map& values) {
  std::map<std::string, std::vector<std::string>> own;
  for (const data::ImportOption& option : importer.options) {
    const std::string name(option.name);
    if (values.count(name) > 0) own[name] = values[name].as<std::vector<std::string>>();
    if (option.kind != data::ImportOption::Kind::repeated && own[name].size() > 1) {
      throw Error(ExitCode::usage, fmt::format("option '--{}' cannot be specified more than once", name));
    }
    if (own[name].empty()) own.erase(name);
  }
  return data::ImportArguments(std::move(own));
}

// "0 setosa, 1 versicolor"; the first few.
std::string class_list(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < names.size() && i < most; ++i)
    some.push_back(fmt::format("{} {}", i, shown(names[i])));
  return fmt::format("{}{}", fmt::join(some, ", "), names.size() > most ? ", ..." : "");
}

std::string number_list(const std::vector<double>& values) {
  if (values.size() == 1) return fmt::format("{:.6g}", values.front());
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{:.6g} to {:.6g}", *least, *most);
}

void report(const data::ImportTarget& target, const data::Imported& result) {
  fmt::print("{}: {} samples of {}, {} in {} shards, mean {}, std {}\n", target.out.string(), result.samples,
             data::shape_text(result.sample_shape),
             result.target_width > 0 ? fmt::format("{} numbers to predict", result.target_width)
                                     : fmt::format("{} classes", result.classes),
             target.shards, number_list(result.mean), number_list(result.std));
  if (!result.class_names.empty()) fmt::print("classes: {}\n", class_list(result.class_names));
}

// A class without a sample is learnt by nobody: often a gap in the numbers, or numbers from 1.
void warn_of_empty_classes(const data::Imported& result) {
  constexpr std::size_t most = 10;
  const std::vector<std::int64_t>& empty = result.empty_classes;
  if (empty.empty()) return;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < std::min(most, empty.size()); ++i) {
    const auto label = static_cast<std::size_t>(empty[i]);
    some.push_back(label < result.class_names.size()
                       ? fmt::format("{} ({})", label, shown(result.class_names[label]))
                       : fmt::format("{}", label));
  }
  fmt::print(stderr,
             "lockstep: warning: {} of {} classes {} no sample: {}{}; if that is not meant, correct the "
             "labels or --classes\n",
             empty.size(), result.classes, empty.size() == 1 ? "has" : "have", fmt::join(some, ", "),
             empty.size() > most ? ", ..." : "");
}

int import_with(const data::Importer& importer, std::span<const std::string> args) {
  const auto options = describe(importer);
  try {
    const auto values = parse(options, args);
    if (values.count("help") > 0) {
      std::cout << "lockstep data import " << importer.name << " " << importer.usage
                << " --out DIR [options]\n\n"
                << importer.description << "\nAll shards appear at once; after an error there is none.\n\n"
                << options;
      return static_cast<int>(ExitCode::finished);
    }
    const data::ImportTarget target = target_of(values);
    const data::Imported result = importer.run(arguments_of(importer, values), target);
    report(target, result);
    warn_of_empty_classes(result);
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    throw Error(ExitCode::usage,
                fmt::format("{}; see lockstep data import {} --help", error.what(), importer.name));
  }
  return static_cast<int>(ExitCode::finished);
}

}  // namespace

int data_import_command(std::span<const std::string> args) {
  if (!args.empty()) {
    const data::Importer* importer = data::find_importer(args.front());
    if (importer != nullptr) return import_with(*importer, args.subspan(1));
  }
  const bool help = !args.empty() && (args.front() == "--help" || args.front() == "-h");
  std::string formats;
  for (const data::Importer* importer : data::importers()) {
    formats += help ? fmt::format("  {:<8} {}\n", importer->name, importer->summary)
                    : fmt::format(" {}", importer->name);
  }
  if (help) {
    fmt::print(
        "lockstep data import FORMAT ... --out DIR\n\nFormats (lockstep data import FORMAT --help says "
        "more):\n{}\nRecipes for whole datasets are in datasets/; docs/your-data.md has an example of each "
        "format.\n",
        formats);
    return static_cast<int>(ExitCode::finished);
  }
  throw Error(ExitCode::usage,
              args.empty() ? fmt::format("lockstep data import needs a format, one of:{}", formats)
                           : fmt::format("lockstep data import does not know the format '{}'; it knows:{}",
                                         args.front(), formats));
}

}  // namespace lockstep::cli
