#include "hdf5/collective.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/files.h"

namespace lockstep::hdf5 {

namespace {

constexpr ExitCode failure = ExitCode::cannot_create;

PropertyList property_list(hid_t kind) {
  return own<PropertyList>(H5Pcreate(kind), failure, "create an HDF5 property list");
}

File open_parallel(MPI_Comm comm, const std::string& path) {
  const PropertyList access = property_list(H5P_FILE_ACCESS);
  check(H5Pset_fapl_mpio(access.get(), comm, MPI_INFO_NULL), failure, "choose the MPI-IO driver");
  return own<File>(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), failure, "open the HDF5 file " + path);
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

// Puts an anonymous file behind every descriptor of this process that `path` is open on.
void redirect_descriptors(const std::string& path) {
  namespace fs = std::filesystem;
  const FileDescriptor sink(::memfd_create("closed", MFD_CLOEXEC));
  const fs::path target = fs::weakly_canonical(path);
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the iterator's own descriptor is among them
    if (fs::read_symlink(entry.path(), gone) != target || gone) continue;
    ::dup2(sink.get(), std::stoi(entry.path().filename().string()));
  }
}

}  // namespace

CollectiveFile::CollectiveFile(MPI_Comm comm, Agreement agree, std::string path)
    : agree_(std::move(agree)), path_(std::move(path)) {
  try {
    agree_("open " + path_, [&] {
      const auto guard = lock();
      transfer_ = property_list(H5P_DATASET_XFER);
      check(H5Pset_dxpl_mpio(transfer_.get(), H5FD_MPIO_COLLECTIVE), failure, "ask for collective transfers");
      file_ = open_parallel(comm, path_);
    });
  } catch (...) {
    file_.release();  // closing is collective, and some ranks may have nothing to close
    throw;
  }
}

CollectiveFile::~CollectiveFile() {
  file_.release();
}

Dataset CollectiveFile::open(const std::string& name) {
  Dataset dataset;
  agree_(fmt::format("open dataset {} in {}", name, path_), [&] {
    const auto guard = lock();
    dataset = own<Dataset>(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), failure, "open the dataset");
  });
  return dataset;
}

void CollectiveFile::write(const Dataset& dataset, const std::string& name, hid_t type, const Slab& slab) {
  const std::string part = slab.rows == 0
                               ? "nothing"
                               : fmt::format("rows {} to {}", slab.first_row, slab.first_row + slab.rows - 1);
  agree_(fmt::format("write {} of dataset {} in {}", part, name, path_), [&] {
    const auto guard = lock();
    const Dataspace space = own<Dataspace>(H5Dget_space(dataset.get()), failure, "get the dataspace");
    const Dataspace memory = select(space, slab, name);
    check(H5Dwrite(dataset.get(), type, memory.get(), space.get(), transfer_.get(), slab.data), failure,
          "write");
    std::uint32_t local = 0;
    std::uint32_t global = 0;
    check(H5Pget_mpio_no_collective_cause(transfer_.get(), &local, &global), failure,
          "learn whether the transfer was collective");
    if ((local | global) != 0) {
      throw Error(failure, fmt::format("the transfer did not stay collective: {}",
                                       no_collective_cause(local | global)));
    }
    ++transfers_;
    bytes_written_ += static_cast<std::int64_t>(static_cast<hsize_t>(H5Sget_select_npoints(space.get())) *
                                                H5Tget_size(type));
  });
}

void CollectiveFile::flush() {
  agree_("flush " + path_, [&] {
    const auto guard = lock();
    errno = 0;
    const herr_t status = H5Fflush(file_.get(), H5F_SCOPE_GLOBAL);
    // MPI names a code of its own. What the system said, a full disk or a quota, is still in errno.
    const int error = status < 0 ? errno : 0;
    check(status, failure, error == 0 ? "flush" : fmt::format("flush ({})", std::strerror(error)));
  });
}

void CollectiveFile::close() {
  agree_("close " + path_, [&] {
    redirect_descriptors(path_);
    file_.close_checked(failure, "close the HDF5 file");
  });
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

}  // namespace lockstep::hdf5
