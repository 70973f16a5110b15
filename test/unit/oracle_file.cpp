#include "oracle_file.h"

#include <fmt/format.h>

#include "hdf5/serial.h"

namespace lockstep::test {

namespace {

constexpr auto bad = ExitCode::bad_data;

hdf5::Dataset open_dataset(const hdf5::File& file, const std::string& name) {
  return hdf5::own<hdf5::Dataset>(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), bad, name);
}

std::vector<std::int64_t> shape_of(const hdf5::Dataset& dataset) {
  const auto space = hdf5::own<hdf5::Dataspace>(H5Dget_space(dataset.get()), bad, "space");
  std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.get())));
  H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  return {extents.begin(), extents.end()};
}

template <typename T>
std::vector<T> read(const hdf5::File& file, const std::string& name, hid_t type) {
  const auto dataset = open_dataset(file, name);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape_of(dataset)) count *= extent;
  std::vector<T> values(static_cast<std::size_t>(count));
  hdf5::check(H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), bad, name);
  return values;
}

hdf5::Attribute open_attribute(const hdf5::File& file, const std::string& object, const std::string& name) {
  return hdf5::own<hdf5::Attribute>(
      H5Aopen_by_name(file.get(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), bad, name);
}

}  // namespace

OracleFile::OracleFile(const std::string& model)
    : file_(hdf5::open_serial(fmt::format("test/fixtures/oracle/{}.h5", model))) {}

std::vector<float> OracleFile::floats(const std::string& dataset) const {
  return read<float>(file_, dataset, H5T_NATIVE_FLOAT);
}

std::vector<double> OracleFile::doubles(const std::string& dataset) const {
  return read<double>(file_, dataset, H5T_NATIVE_DOUBLE);
}

std::vector<std::int32_t> OracleFile::integers(const std::string& dataset) const {
  return read<std::int32_t>(file_, dataset, H5T_NATIVE_INT32);
}

std::vector<std::int64_t> OracleFile::shape(const std::string& dataset) const {
  return shape_of(open_dataset(file_, dataset));
}

std::vector<std::string> OracleFile::members(const std::string& group) const {
  std::vector<std::string> names;
  const auto append = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  hdf5::check(H5Literate_by_name(file_.get(), group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, append,
                                 &names, H5P_DEFAULT),
              bad, group);
  return names;
}

double OracleFile::number(const std::string& object, const std::string& attribute) const {
  double value = 0;
  const auto opened = open_attribute(file_, object, attribute);
  hdf5::check(H5Aread(opened.get(), H5T_NATIVE_DOUBLE, &value), bad, attribute);
  return value;
}

std::optional<std::string> OracleFile::text(const std::string& object, const std::string& attribute) const {
  if (H5Aexists_by_name(file_.get(), object.c_str(), attribute.c_str(), H5P_DEFAULT) <= 0)
    return std::nullopt;
  const auto opened = open_attribute(file_, object, attribute);
  const auto type = hdf5::own<hdf5::Datatype>(H5Aget_type(opened.get()), bad, attribute);
  if (H5Tget_class(type.get()) != H5T_STRING) return fmt::format("{}", number(object, attribute));
  char* characters = nullptr;  // h5py's strings have no fixed length: HDF5 allocates them
  hdf5::check(H5Aread(opened.get(), type.get(), &characters), bad, attribute);
  std::string result = characters != nullptr ? characters : "";
  H5free_memory(characters);
  return result;
}

}  // namespace lockstep::test
