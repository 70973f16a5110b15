#include <array>

#include "data/hdf5_array.h"
#include "data/import_arrays.h"

namespace lockstep::data {

namespace {

constexpr std::array<ImportOption, 6> kOptions = {{
    {"file", "FILE", "HDF5 files, one or more: their rows follow each other", ImportOption::Kind::repeated},
    {"x", "DATASET", "samples, a path in the file: the first dimension are the samples",
     ImportOption::Kind::required},
    {"y", "DATASET", "class numbers [n], one-hot rows, or numbers to predict [n] or [n, k]",
     ImportOption::Kind::required},
    shape_option,
    layout_option,
    label_form_option,
}};

Imported run(const ImportArguments& arguments, const ImportTarget& target) {
  const ArrayForm form = array_form(arguments);
  std::vector<ArrayPair> pairs;
  for (const std::string& file : arguments.all("file")) {
    pairs.push_back({std::make_unique<Hdf5Array>(file, arguments.text("x")),
                     std::make_unique<Hdf5Array>(file, arguments.text("y"))});
  }
  return import_arrays(std::move(pairs), form, target);
}

}  // namespace

extern const Importer hdf5_importer;
constexpr Importer hdf5_importer = {
    "hdf5",
    "HDF5 files that other programs have made",
    "--file FILE... --x DATASET --y DATASET",
    "Turns datasets of HDF5 files into HDF5 shards as training reads them best.",
    kOptions,
    run,
};

}  // namespace lockstep::data
