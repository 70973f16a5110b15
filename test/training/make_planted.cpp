// make_planted DIR SHARDS ROWS [ID VALUE]...: shards of ROWS float32 samples each, 16 numbers in 4 classes
// that a small model can learn; all numbers of sample ID are VALUE. For cases in which a few samples are
// finite, and yet more than a model stands.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "hdf5/handle.h"

namespace {

constexpr std::int64_t width = 16;
constexpr std::int64_t classes = 4;

using lockstep::ExitCode;
namespace hdf5 = lockstep::hdf5;

template <typename T>
void write(hid_t file, const char* name, const std::vector<hsize_t>& shape, hid_t type,
           const std::vector<T>& values) {
  constexpr auto code = ExitCode::cannot_create;
  const auto space = hdf5::own<hdf5::Dataspace>(
      H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), code, "space");
  const auto dataset = hdf5::own<hdf5::Dataset>(
      H5Dcreate2(file, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), code, "dataset");
  hdf5::check(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), code, "write");
}

// Of a class, with some noise that is a function of the sample.
std::vector<float> sample(std::int64_t id) {
  std::vector<float> x(width);
  for (std::int64_t i = 0; i < width; ++i) {
    const double noise = std::sin(static_cast<double>(37 * id + 11 * i));
    x[static_cast<std::size_t>(i)] = static_cast<float>((i % classes == id % classes ? 1.0 : 0.0) + noise);
  }
  return x;
}

void make(const std::filesystem::path& folder, std::int64_t shards, std::int64_t rows,
          const std::map<std::int64_t, float>& planted) {
  std::filesystem::create_directories(folder);
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    std::vector<float> x;
    std::vector<std::int64_t> y;
    for (std::int64_t id = shard * rows; id < (shard + 1) * rows; ++id) {
      auto values = sample(id);
      if (const auto at = planted.find(id); at != planted.end()) values.assign(width, at->second);
      x.insert(x.end(), values.begin(), values.end());
      y.push_back(id % classes);
    }
    const std::string path = folder / ("part-" + std::to_string(shard) + ".h5");
    const auto file = hdf5::own<hdf5::File>(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                                            ExitCode::cannot_create, "file");
    write(file.get(), "x", {static_cast<hsize_t>(rows), width}, H5T_NATIVE_FLOAT, x);
    write(file.get(), "y", {static_cast<hsize_t>(rows)}, H5T_NATIVE_INT64, y);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc % 2 != 0) {
    std::fputs("usage: make_planted DIR SHARDS ROWS [ID VALUE]...\n", stderr);
    return 64;
  }
  try {
    std::map<std::int64_t, float> planted;
    for (int i = 4; i + 1 < argc; i += 2) planted[std::atoll(argv[i])] = std::strtof(argv[i + 1], nullptr);
    make(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), planted);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_planted: %s\n", error.what());
    return 70;
  }
}
