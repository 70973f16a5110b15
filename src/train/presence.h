// Which ranks of an attempt still exist, told by locks on a file in the run folder: the system takes a lock
// away with the process that holds it, however that ends. So a rank that was killed is known at once, long
// before any limit of the watchdog, and told apart from one that is only slow or frozen.
#pragma once

#include <filesystem>
#include <functional>

#include "comm/group.h"
#include "core/files.h"

namespace lockstep::train {

class Presence {
 public:
  // Makes the file where it is missing and locks the place of this rank. Throws nothing: see held().
  Presence(const std::filesystem::path& file, int rank);

  // False where the file system has no locks, or the file cannot be made: then nothing is known of others.
  bool held() const { return held_; }

  // True if a rank that once held its place does so no more.
  bool is_gone(int rank) const;

 private:
  FileDescriptor file_;
  bool held_ = false;
};

// How this rank learns that the next one (after the last: rank 0) exists no more; empty unless every rank
// could lock its place in `folder`/present, which is made where needed, and sees the next one's: locks may be
// known on their own node alone. Collective; throws what the communicator does.
std::function<bool()> watch_next_rank(comm::Group& comm, const std::filesystem::path& folder);

}  // namespace lockstep::train
