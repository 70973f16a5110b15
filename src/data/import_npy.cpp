#include <array>

#include "data/import_arrays.h"
#include "data/npy_file.h"

namespace lockstep::data {

namespace {

constexpr std::array<ImportOption, 5> kOptions = {{
    {"x", "FILE", "samples, NPY, plain or gzip'd: the first dimension are the samples",
     ImportOption::Kind::required},
    {"y", "FILE", "class numbers [n], one-hot rows, or numbers to predict [n] or [n, k]",
     ImportOption::Kind::required},
    shape_option,
    layout_option,
    label_form_option,
}};

Imported run(const ImportArguments& arguments, const ImportTarget& target) {
  const ArrayForm form = array_form(arguments);
  std::vector<ArrayPair> pairs(1);
  pairs[0].x = std::make_unique<NpyFile>(open_input(arguments.text("x")));
  pairs[0].y = std::make_unique<NpyFile>(open_input(arguments.text("y")));
  return import_arrays(std::move(pairs), form, target);
}

}  // namespace

extern const Importer npy_importer;
constexpr Importer npy_importer = {
    "npy",
    "arrays that NumPy has saved",
    "--x FILE --y FILE",
    "Turns a pair of NPY files, samples and labels, into HDF5 shards.",
    kOptions,
    run,
};

}  // namespace lockstep::data
