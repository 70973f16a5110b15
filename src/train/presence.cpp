#include "train/presence.h"

#include <fcntl.h>

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

}  // namespace lockstep::train
