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
//
// The file exists, with all its datasets (hdf5/structure.h): only their values are written here. HDF5 1.10
// writes its own structures in several steps that all ranks must reach, and hangs where one of them fails in
// between (no space, I/O error). Without changed structures there is no such step but one: closing writes the
// superblock again, unchanged. close() sends that nowhere.
class CollectiveFile {
 public:
  // `comm` is a plain duplicate of the world that outlives this object.
  CollectiveFile(MPI_Comm comm, Agreement agree, std::string path);
  // Leaves the file open if close() was not called: closing is collective, and the peers may not be there.
  ~CollectiveFile();
  CollectiveFile(const CollectiveFile&) = delete;
  CollectiveFile& operator=(const CollectiveFile&) = delete;

  Dataset open(const std::string& name);

  // One collective transfer. The caller keeps a slab below 2 GiB, which is where HDF5 1.10 fails.
  void write(const Dataset& dataset, const std::string& name, hid_t type, const Slab& slab);

  // On the disk when it returns (MPI_File_sync on every rank).
  void flush();
  // Nothing reaches the disk any more: after flush(), or on the way out of an agreed failure.
  void close();

  // Collective transfers made, and bytes that this rank brought.
  std::int64_t transfers() const { return transfers_; }
  std::int64_t bytes_written() const { return bytes_written_; }

 private:
  Agreement agree_;
  std::string path_;
  File file_;
  PropertyList transfer_;
  std::int64_t transfers_ = 0;
  std::int64_t bytes_written_ = 0;
};

// The bits of H5Pget_mpio_no_collective_cause in words, joined by commas; "" for 0.
std::string no_collective_cause(std::uint32_t cause);

}  // namespace lockstep::hdf5
