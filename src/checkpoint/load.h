// Finding and reading the newest intact checkpoint, by all ranks together (contract C6).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/file.h"
#include "checkpoint/state.h"
#include "comm/group.h"

namespace lockstep::checkpoint {

// Called on rank 0 for each file that is damaged and therefore skipped (and kept): file, what is wrong, what
// is done.
using Warn = std::function<void(const std::string& text)>;

// A checkpoint whose every byte has been verified. Each rank holds its share of the verified bytes in memory,
// 1/size of the tensors, so that they are read from disk once and cannot change between check and use.
class Loaded {
 public:
  const std::filesystem::path& path() const { return description_.path; }
  const State& state() const { return description_.state; }
  const std::vector<TensorInfo>& tensors() const { return description_.tensors; }

  // How the tensors differ from these views, of which each is wanted with the same name and shape, in any
  // order: the first difference, or nothing. The same on every rank.
  std::string misfit(std::span<const TensorView> tensors) const;

  // Fills every tensor on every rank; throws Error(bad_config) where there is a misfit(). Collective.
  void read(comm::Group& comm, std::span<const TensorView> tensors) const;

 private:
  friend std::optional<Loaded> open_newest(comm::Group& comm, const std::filesystem::path& folder,
                                           const Warn& warn);
  friend Loaded open_named(comm::Group& comm, const std::filesystem::path& path);

  // `description` is rank 0's. Nothing if any rank finds a fault, which then is told on all of them.
  static std::optional<Loaded> verify_together(comm::Group& comm, Description description,
                                               std::string& fault);

  Description description_;
  std::vector<std::vector<std::byte>> own_slabs_;  // slab k on rank k mod size
};

// Rank 0 lists step-*.h5, newest first, and tells the others the exact name; all ranks verify it, and a
// damaged one is skipped in favour of the next older. Nothing where no intact checkpoint exists. Throws
// Error(bad_config) on every rank where the newest intact seal is of a newer format. Collective.
std::optional<Loaded> open_newest(comm::Group& comm, const std::filesystem::path& folder, const Warn& warn);

// One named file; Error(missing_input) or Error(bad_data) on every rank where it is absent or damaged.
// Collective.
Loaded open_named(comm::Group& comm, const std::filesystem::path& path);

}  // namespace lockstep::checkpoint
