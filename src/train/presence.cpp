#include "train/presence.h"

#include <fcntl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <system_error>

namespace lockstep::train {

namespace {

// One byte of the file for each rank. The file itself stays empty: a lock needs no data below it.
struct flock place_of(int rank) {
  struct flock place {};
  place.l_type = F_WRLCK;
  place.l_whence = SEEK_SET;
  place.l_start = rank;
  place.l_len = 1;
  return place;
}

}  // namespace

// Locks of the open file, not of the process: those would be lost as soon as any other descriptor of the file
// is closed.
Presence::Presence(const std::filesystem::path& file, int rank)
    : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  struct flock place = place_of(rank);
  held_ = file_ && ::fcntl(file_.get(), F_OFD_SETLK, &place) == 0;
}

bool Presence::is_gone(int rank) const {
  struct flock place = place_of(rank);
  return ::fcntl(file_.get(), F_OFD_GETLK, &place) == 0 && place.l_type == F_UNLCK;
}

std::function<bool()> watch_next_rank(comm::Group& comm, const std::filesystem::path& folder) {
  std::error_code ignored;  // then the file cannot be made either
  std::filesystem::create_directories(folder, ignored);
  auto presence = std::make_shared<Presence>(folder / "present", comm.rank());
  const int next = (comm.rank() + 1) % comm.size();
  const auto on_all = [&](bool mine) {
    std::int64_t all = mine ? 1 : 0;
    comm.all_reduce_min(std::span(&all, 1));
    return all != 0;
  };
  if (!on_all(presence->held()) || comm.size() == 1) return {};
  // Only now does every rank hold its place.
  if (!on_all(!presence->is_gone(next))) return {};
  return [presence, next] { return presence->is_gone(next); };
}

}  // namespace lockstep::train
