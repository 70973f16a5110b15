#include "hdf5/serial.h"

#include <fmt/format.h>

namespace lockstep::hdf5 {

namespace fs = std::filesystem;

namespace {

PropertyList access_without_lock(ExitCode code) {
  auto access = own<PropertyList>(H5Pcreate(H5P_FILE_ACCESS), code, "make an HDF5 access list");
  check(H5Pset_fapl_sec2(access.get()), code, "choose HDF5's serial driver");
  check(H5Pset_file_locking(access.get(), false, true), code, "turn HDF5's file locking off");
  return access;
}

[[noreturn]] void refuse(const fs::path& path, const std::string& name, std::string_view wanted) {
  throw Error(ExitCode::bad_data,
              fmt::format("attribute {} of {} is not {}; write it as a plain number, in h5py: "
                          "file.attrs['{}'] = ...",
                          name, path.string(), wanted, name));
}

}  // namespace

File open_serial(const fs::path& path) {
  const auto guard = lock();
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw Error(ExitCode::missing_input, fmt::format("cannot open {}: no such file", path.string()));
  }
  const auto access = access_without_lock(ExitCode::internal);
  return own<File>(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), ExitCode::bad_data,
                   fmt::format("open {} as an HDF5 file", path.string()));
}

File create_serial(const fs::path& path) {
  const auto guard = lock();
  const auto access = access_without_lock(ExitCode::cannot_create);
  return own<File>(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()), ExitCode::cannot_create,
                   fmt::format("create {}", path.string()));
}

File reopen_serial(const fs::path& path) {
  const auto guard = lock();
  const auto access = access_without_lock(ExitCode::cannot_create);
  return own<File>(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), ExitCode::cannot_create,
                   fmt::format("open {} for writing", path.string()));
}

std::optional<std::vector<double>> read_numbers(const File& file, const fs::path& path,
                                                const std::string& name) {
  const auto guard = lock();
  const std::string what = fmt::format("read attribute {} of {}", name, path.string());
  const htri_t there = H5Aexists(file.get(), name.c_str());
  if (there < 0) raise(ExitCode::bad_data, what);
  if (there == 0) return std::nullopt;
  const auto attribute =
      own<Attribute>(H5Aopen(file.get(), name.c_str(), H5P_DEFAULT), ExitCode::bad_data, what);
  const auto type = own<Datatype>(H5Aget_type(attribute.get()), ExitCode::bad_data, what);
  const auto space = own<Dataspace>(H5Aget_space(attribute.get()), ExitCode::bad_data, what);
  const H5T_class_t kind = H5Tget_class(type.get());
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || count < 1) refuse(path, name, "a number");
  std::vector<double> values(static_cast<std::size_t>(count));
  check(H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, values.data()), ExitCode::bad_data, what);
  return values;
}

std::optional<double> read_number(const File& file, const fs::path& path, const std::string& name) {
  const auto values = read_numbers(file, path, name);
  if (!values) return std::nullopt;
  if (values->size() != 1) refuse(path, name, "a single number");
  return values->front();
}

}  // namespace lockstep::hdf5
