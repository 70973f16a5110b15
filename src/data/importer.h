// What the importers have in common. An importer is one file that defines an Importer, and its name in
// importers.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/names.h"

namespace lockstep::data {

// Where samples go, and as what: the options that every importer takes.
struct ImportTarget {
  std::filesystem::path out;  // folder; must be absent or empty
  std::int64_t shards = 1;
  std::optional<std::int64_t> classes;      // default: the largest label + 1
  std::optional<double> scale;              // default: 1/255 for uint8, or else 1
  std::optional<std::vector<double>> mean;  // of the scaled values; default: measured
  std::optional<std::vector<double>> std;
  // A split that this one belongs to, such as the training split; may be empty. Samples then have its shape.
  std::filesystem::path like;
  std::vector<std::int64_t> like_shape;
  Names like_names;
};

// What was made; for the line that is printed.
struct Imported {
  std::int64_t samples = 0;
  std::vector<std::int64_t> sample_shape;
  std::int64_t classes = 0;       // 0 where there are numbers to predict
  std::int64_t target_width = 0;  // 0 where there are classes
  double scale = 1;
  std::vector<double> mean;
  std::vector<double> std;
  std::vector<std::string> class_names;     // empty where the input had class numbers
  std::vector<std::int64_t> empty_classes;  // that no sample has, in order
};

// One option of an importer's own, as the command line has it: --name VALUE.
struct ImportOption {
  enum class Kind { required, optional, repeated };
  std::string_view name;
  std::string_view value;  // what --help calls the value
  std::string_view help;
  Kind kind = Kind::optional;
};

// The values of an importer's own options.
class ImportArguments {
 public:
  explicit ImportArguments(std::map<std::string, std::vector<std::string>> values)
      : values_(std::move(values)) {}

  // The value, or `otherwise` where the option was not given.
  std::string text(const std::string& name, const std::string& otherwise = "") const;
  bool given(const std::string& name) const { return values_.contains(name); }
  // All values of a repeated option.
  std::vector<std::string> all(const std::string& name) const;
  // The place of the value in `choices`; throws Error(usage) naming them where it is none of them.
  std::size_t choice(const std::string& name, std::span<const std::string_view> choices) const;

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

struct Importer {
  std::string_view name;
  std::string_view summary;
  std::string_view usage;        // the options that one must give
  std::string_view description;  // lines of --help
  std::span<const ImportOption> options;
  // Throws Error and leaves nothing behind where the input is missing, damaged or does not fit.
  Imported (*run)(const ImportArguments& arguments, const ImportTarget& target);
};

// All there are.
std::span<const Importer* const> importers();

// Nothing where there is none of that name.
const Importer* find_importer(std::string_view name);

}  // namespace lockstep::data
