#include <algorithm>
#include <array>

#include "data/importer.h"

namespace lockstep::data {

// Adding a format: a file that defines its Importer, and its name here.
extern const Importer idx_importer;
extern const Importer npy_importer;
extern const Importer csv_importer;
extern const Importer hdf5_importer;
extern const Importer cifar_importer;

std::span<const Importer* const> importers() {
  static constexpr std::array table = {&idx_importer, &npy_importer, &csv_importer, &hdf5_importer,
                                       &cifar_importer};
  return table;
}

const Importer* find_importer(std::string_view name) {
  const auto all = importers();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Importer* i) { return i->name == name; });
  return at == all.end() ? nullptr : *at;
}

}  // namespace lockstep::data
