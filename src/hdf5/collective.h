// One HDF5 file written by all ranks together through MPI-IO.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "hdf5/handle.h"

namespace lockstep::hdf5 {

// Runs the work on every rank and throws the same error everywhere if it failed anywhere
// (comm::agree, bound to the ranks of the file's communicator).
using Agreement = std::function<void(std::string_view what, const std::function<void()>& work)>;

// Part of the rows of a dataset, and where they lie in this rank's memory; rows == 0 for "nothing from me".
struct Slab {
  hsize_t first_row = 0;
  hsize_t rows = 0;
  const void* data = nullptr;
};

// Every member function but the accessors is collective: all ranks call it in the same order, with the same
// arguments except for the Slab. Each ends with an agreement, so that a failure of one rank is the same
// Error(cannot_create) on all. Data move in the dataset's own type, without conversion or filter, and each
// transfer asserts that it stayed collective.
class CollectiveFile {
 public:
  // Creates the file, which must not matter to anyone: it is truncated. `comm` is a plain duplicate of the
  // world that outlives this object. `userblock` bytes (0, or a power of two from 512) stay free at the
  // front.
  CollectiveFile(MPI_Comm comm, Agreement agree, std::string path, hsize_t userblock);
  // Leaves the file open if close() was not called: closing is collective, and the peers may not be there.
  ~CollectiveFile();
  CollectiveFile(const CollectiveFile&) = delete;
  CollectiveFile& operator=(const CollectiveFile&) = delete;

  // A contiguous dataset with space allocated and not filled; groups on the way are created. An empty shape
  // is a scalar, which counts as one row.
  Dataset create(const std::string& name, hid_t type, std::span<const hsize_t> shape);

  // Where the dataset's bytes begin in the file (counted from the file's start, userblock included);
  // HADDR_UNDEF for a dataset without elements.
  haddr_t offset(const Dataset& dataset, const std::string& name);

  // One collective transfer. The caller keeps a slab below 2 GiB, which is where HDF5 1.10 fails.
  void write(const Dataset& dataset, const std::string& name, hid_t type, const Slab& slab);

  // Attributes of a group that exists; the same value on every rank. Text must be shorter than 64 KiB.
  void write_attribute(const std::string& group, const std::string& name, std::int64_t value);
  void write_attribute(const std::string& group, const std::string& name, double value);
  void write_attribute(const std::string& group, const std::string& name, const std::string& value);

  // On the disk of every rank when it returns (MPI_File_sync).
  void flush();
  void close();
  // On the way out of an agreed failure: closes as far as it goes and reports nothing.
  void close_after_failure() noexcept;

  // Collective transfers made, and bytes that this rank brought.
  std::int64_t transfers() const { return transfers_; }
  std::int64_t bytes_written() const { return bytes_written_; }

 private:
  void write_attribute(const std::string& group, const std::string& name, hid_t type, const void* value);

  Agreement agree_;
  std::string path_;
  File file_;
  PropertyList transfer_;
  PropertyList link_creation_;
  std::int64_t transfers_ = 0;
  std::int64_t bytes_written_ = 0;
};

// The bits of H5Pget_mpio_no_collective_cause in words, joined by commas; "" for 0.
std::string no_collective_cause(std::uint32_t cause);

// A fixed-length UTF-8 string type, padded by NUL, of at least one byte.
Datatype text_type(std::size_t length);

}  // namespace lockstep::hdf5
