#include "hdf5/collective.h"

#include <fmt/format.h>

#include <vector>

namespace lockstep::hdf5 {

namespace {

constexpr ExitCode failure = ExitCode::cannot_create;

PropertyList property_list(hid_t kind) {
  return own<PropertyList>(H5Pcreate(kind), failure, "create an HDF5 property list");
}

File create_file(MPI_Comm comm, const std::string& path, hsize_t userblock) {
  const auto guard = lock();
  const PropertyList access = property_list(H5P_FILE_ACCESS);
  const PropertyList creation = property_list(H5P_FILE_CREATE);
  check(H5Pset_fapl_mpio(access.get(), comm, MPI_INFO_NULL), failure, "choose the MPI-IO driver");
  check(H5Pset_coll_metadata_write(access.get(), true), failure, "ask for collective metadata");
  // Checksummed structures and large files, readable by any HDF5 from 1.8 on.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V110), failure, "set version bounds");
  check(H5Pset_userblock(creation.get(), userblock), failure, "reserve the user block");
  return own<File>(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), failure,
                   "create the HDF5 file " + path);
}

Dataspace simple_space(std::span<const hsize_t> shape) {
  const hid_t id = shape.empty() ? H5Screate(H5S_SCALAR)
                                 : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  return own<Dataspace>(id, failure, "create a dataspace");
}

// Narrows the dataset's space to the slab, and makes the memory's: the same number of elements in one line.
Dataspace select(const Dataspace& file_space, const Slab& slab, const std::string& name) {
  const int rank = H5Sget_simple_extent_ndims(file_space.get());
  if (slab.rows == 0) {
    check(H5Sselect_none(file_space.get()), failure, "select nothing of " + name);
  } else if (rank > 0) {
    std::vector<hsize_t> count(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(file_space.get(), count.data(), nullptr);
    std::vector<hsize_t> start(count.size());
    start[0] = slab.first_row;
    count[0] = slab.rows;
    check(H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
          failure, "select rows of " + name);
  }
  const auto elements = static_cast<hsize_t>(H5Sget_select_npoints(file_space.get()));
  Dataspace memory =
      own<Dataspace>(H5Screate_simple(1, &elements, nullptr), failure, "create a dataspace for " + name);
  if (slab.rows == 0) check(H5Sselect_none(memory.get()), failure, "select nothing of " + name);
  return memory;
}

}  // namespace

CollectiveFile::CollectiveFile(MPI_Comm comm, Agreement agree, std::string path, hsize_t userblock)
    : agree_(std::move(agree)), path_(std::move(path)) {
  try {
    agree_("create " + path_, [&] {
      const auto guard = lock();
      transfer_ = property_list(H5P_DATASET_XFER);
      check(H5Pset_dxpl_mpio(transfer_.get(), H5FD_MPIO_COLLECTIVE), failure, "ask for collective transfers");
      link_creation_ = property_list(H5P_LINK_CREATE);
      check(H5Pset_create_intermediate_group(link_creation_.get(), 1), failure, "ask for groups on the way");
      file_ = create_file(comm, path_, userblock);
    });
  } catch (...) {
    file_.release();  // closing is collective, and some ranks may have nothing to close
    throw;
  }
}

CollectiveFile::~CollectiveFile() {
  file_.release();
}

Dataset CollectiveFile::create(const std::string& name, hid_t type, std::span<const hsize_t> shape) {
  Dataset dataset;
  agree_(fmt::format("create dataset {} in {}", name, path_), [&] {
    const auto guard = lock();
    const Dataspace space = simple_space(shape);
    const PropertyList creation = property_list(H5P_DATASET_CREATE);
    check(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), failure, "ask for a contiguous dataset");
    check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), failure, "ask for early allocation");
    check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), failure, "ask for no fill");
    dataset = own<Dataset>(H5Dcreate2(file_.get(), name.c_str(), type, space.get(), link_creation_.get(),
                                      creation.get(), H5P_DEFAULT),
                           failure, "create the dataset");
  });
  return dataset;
}

haddr_t CollectiveFile::offset(const Dataset& dataset, const std::string& name) {
  haddr_t result = HADDR_UNDEF;
  agree_(fmt::format("place dataset {} in {}", name, path_), [&] {
    const auto guard = lock();
    const Dataspace space = own<Dataspace>(H5Dget_space(dataset.get()), failure, "get the dataspace");
    if (H5Sget_simple_extent_npoints(space.get()) == 0) return;
    result = H5Dget_offset(dataset.get());
    if (result == HADDR_UNDEF) raise(failure, "learn where HDF5 placed it");
  });
  return result;
}

void CollectiveFile::write(const Dataset& dataset, const std::string& name, hid_t type, const Slab& slab) {
  agree_(fmt::format("write rows {} to {} of dataset {} in {}", slab.first_row, slab.first_row + slab.rows,
                     name, path_),
         [&] {
           const auto guard = lock();
           const Dataspace space = own<Dataspace>(H5Dget_space(dataset.get()), failure, "get the dataspace");
           const Dataspace memory = select(space, slab, name);
           check(H5Dwrite(dataset.get(), type, memory.get(), space.get(), transfer_.get(), slab.data),
                 failure, "write");
           std::uint32_t local = 0;
           std::uint32_t global = 0;
           check(H5Pget_mpio_no_collective_cause(transfer_.get(), &local, &global), failure,
                 "learn whether the transfer was collective");
           if ((local | global) != 0) {
             throw Error(failure, fmt::format("the transfer did not stay collective: {}",
                                              no_collective_cause(local | global)));
           }
           ++transfers_;
           bytes_written_ += static_cast<std::int64_t>(
               static_cast<hsize_t>(H5Sget_select_npoints(space.get())) * H5Tget_size(type));
         });
}

void CollectiveFile::write_attribute(const std::string& group, const std::string& name, hid_t type,
                                     const void* value) {
  agree_(fmt::format("write attribute {} of {} in {}", name, group, path_), [&] {
    const auto guard = lock();
    const Group owner =
        own<Group>(H5Gopen2(file_.get(), group.c_str(), H5P_DEFAULT), failure, "open the group");
    const Dataspace scalar = simple_space({});
    const Attribute attribute =
        own<Attribute>(H5Acreate2(owner.get(), name.c_str(), type, scalar.get(), H5P_DEFAULT, H5P_DEFAULT),
                       failure, "create the attribute");
    check(H5Awrite(attribute.get(), type, value), failure, "write the attribute");
  });
}

void CollectiveFile::write_attribute(const std::string& group, const std::string& name, std::int64_t value) {
  write_attribute(group, name, H5T_STD_I64LE, &value);
}

void CollectiveFile::write_attribute(const std::string& group, const std::string& name, double value) {
  write_attribute(group, name, H5T_IEEE_F64LE, &value);
}

void CollectiveFile::write_attribute(const std::string& group, const std::string& name,
                                     const std::string& value) {
  const Datatype type = text_type(value.size());
  write_attribute(group, name, type.get(), value.c_str());  // an empty text is its NUL
}

void CollectiveFile::flush() {
  agree_("flush " + path_, [&] {
    const auto guard = lock();
    check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), failure, "flush");
  });
}

void CollectiveFile::close() {
  agree_("close " + path_, [&] { file_.close_checked(failure, "close the HDF5 file"); });
}

void CollectiveFile::close_after_failure() noexcept {
  const auto guard = lock();
  H5Fclose(file_.release());
  H5Eclear2(H5E_DEFAULT);
}

std::string no_collective_cause(std::uint32_t cause) {
  struct Reason {
    std::uint32_t bit;
    const char* words;
  };
  static constexpr Reason reasons[] = {
      {H5D_MPIO_SET_INDEPENDENT, "independent transfer was asked for"},
      {H5D_MPIO_DATATYPE_CONVERSION, "memory and file have different types"},
      {H5D_MPIO_DATA_TRANSFORMS, "a data transform is set"},
      {H5D_MPIO_MPI_OPT_TYPES_ENV_VAR_DISABLED, "HDF5_MPI_OPT_TYPES is 0"},
      {H5D_MPIO_NOT_SIMPLE_OR_SCALAR_DATASPACES, "the dataspace is neither simple nor scalar"},
      {H5D_MPIO_NOT_CONTIGUOUS_OR_CHUNKED_DATASET, "the dataset is neither contiguous nor chunked"},
  };
  std::string text;
  for (const Reason& reason : reasons) {
    if ((cause & reason.bit) == 0) continue;
    if (!text.empty()) text += ", ";
    text += reason.words;
    cause &= ~reason.bit;
  }
  if (cause != 0) text += fmt::format("{}unknown cause {:#x}", text.empty() ? "" : ", ", cause);
  return text;
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
