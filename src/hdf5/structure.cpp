#include "hdf5/structure.h"

namespace lockstep::hdf5 {

namespace {

constexpr ExitCode failure = ExitCode::cannot_create;

PropertyList property_list(hid_t kind) {
  return own<PropertyList>(H5Pcreate(kind), failure, "create an HDF5 property list");
}

PropertyList serial_access() {
  PropertyList access = property_list(H5P_FILE_ACCESS);
  check(H5Pset_file_locking(access.get(), false, true), failure, "switch file locking off");
  // Checksummed structures, readable by any HDF5 from 1.8 on.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V110), failure, "set version bounds");
  return access;
}

Dataspace simple_space(std::span<const hsize_t> shape) {
  const hid_t id = shape.empty() ? H5Screate(H5S_SCALAR)
                                 : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  return own<Dataspace>(id, failure, "create a dataspace");
}

void write_attribute(hid_t object, const std::string& name, hid_t type, const void* value,
                     std::span<const hsize_t> shape = {}) {
  const auto guard = lock();
  const Dataspace space = simple_space(shape);
  const auto attribute =
      own<Attribute>(H5Acreate2(object, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT), failure,
                     "create attribute " + name);
  check(H5Awrite(attribute.get(), type, value), failure, "write attribute " + name);
}

}  // namespace

File create_structure(const std::filesystem::path& path, hsize_t userblock) {
  const auto guard = lock();
  const PropertyList creation = property_list(H5P_FILE_CREATE);
  check(H5Pset_userblock(creation.get(), userblock), failure, "reserve the user block");
  return own<File>(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), serial_access().get()), failure,
                   "create the HDF5 file " + path.string());
}

Dataset create_dataset(const File& file, const std::string& name, hid_t type,
                       std::span<const hsize_t> shape) {
  const auto guard = lock();
  const Dataspace space = simple_space(shape);
  const PropertyList links = property_list(H5P_LINK_CREATE);
  check(H5Pset_create_intermediate_group(links.get(), 1), failure, "ask for groups on the way");
  const PropertyList creation = property_list(H5P_DATASET_CREATE);
  check(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), failure, "ask for a contiguous dataset");
  check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), failure, "ask for early allocation");
  check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), failure, "ask for no fill");
  return own<Dataset>(
      H5Dcreate2(file.get(), name.c_str(), type, space.get(), links.get(), creation.get(), H5P_DEFAULT),
      failure, "create dataset " + name);
}

std::int64_t dataset_offset(const Dataset& dataset, const std::string& name) {
  const auto guard = lock();
  const Dataspace space = own<Dataspace>(H5Dget_space(dataset.get()), failure, "get the space of " + name);
  if (H5Sget_simple_extent_npoints(space.get()) == 0) return 0;
  const haddr_t offset = H5Dget_offset(dataset.get());
  if (offset == HADDR_UNDEF) raise(failure, "learn where dataset " + name + " lies");
  return static_cast<std::int64_t>(offset);
}

void write_attribute(hid_t object, const std::string& name, std::int64_t value) {
  write_attribute(object, name, H5T_STD_I64LE, &value);
}

void write_attribute(hid_t object, const std::string& name, double value) {
  write_attribute(object, name, H5T_IEEE_F64LE, &value);
}

void write_attribute(hid_t object, const std::string& name, const std::string& value) {
  const Datatype type = text_type(value.size());
  write_attribute(object, name, type.get(), value.c_str());  // an empty text is its NUL
}

void write_attribute(hid_t object, const std::string& name, std::span<const double> values) {
  const hsize_t count = values.size();
  write_attribute(object, name, H5T_IEEE_F64LE, values.data(),
                  std::span(&count, count == 1 ? std::size_t{0} : std::size_t{1}));
}

Datatype text_type(std::size_t length) {
  const auto guard = lock();
  Datatype type = own<Datatype>(H5Tcopy(H5T_C_S1), failure, "create a text type");
  check(H5Tset_size(type.get(), length == 0 ? 1 : length), failure, "set the length of a text type");
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), failure, "set the padding of a text type");
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), failure, "set the character set of a text type");
  return type;
}

}  // namespace lockstep::hdf5
