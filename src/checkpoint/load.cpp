#include "checkpoint/load.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "checkpoint/folder.h"
#include "comm/agreement.h"
#include "core/error.h"

namespace lockstep::checkpoint {

namespace {

// A client of a network file system may see a file that another one just listed a moment later.
FileDescriptor open_with_patience(const std::filesystem::path& path) {
  constexpr auto patience = std::chrono::seconds(5);
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < patience) {
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file) return file;
    if (errno != ENOENT && errno != ESTALE) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  // A file that others see and this node cannot open is the node's fault.
  return open_file(path, O_RDONLY, 0, ExitCode::internal);
}

// Replaces the description on every rank by rank 0's.
void broadcast_description(comm::Group& comm, Description& description) {
  std::string path = description.path.string();
  std::string packed = pack(description.state, description.tensors);
  comm::broadcast_text(comm, path, 0);
  comm::broadcast_text(comm, packed, 0);
  comm.broadcast(std::as_writable_bytes(std::span(&description.seal, 1)), 0);
  description.slabs.resize(static_cast<std::size_t>(description.seal.table_rows));
  comm.broadcast(std::as_writable_bytes(std::span(description.slabs)), 0);
  description.path = path;
  unpack(packed, description.state, description.tensors);
}

// This rank's share of the slabs, verified.
std::vector<std::vector<std::byte>> read_own_slabs(const comm::Group& comm, const Description& file) {
  std::vector<std::vector<std::byte>> own;
  const FileDescriptor descriptor = open_with_patience(file.path);
  for (auto k = static_cast<std::size_t>(comm.rank()); k < file.slabs.size();
       k += static_cast<std::size_t>(comm.size())) {
    const SlabRecord& slab = file.slabs[k];
    auto& bytes = own.emplace_back(static_cast<std::size_t>(slab.bytes));
    read_slab(descriptor.get(), slab, file.tensors[static_cast<std::size_t>(slab.tensor)], bytes);
  }
  return own;
}

}  // namespace

std::optional<Loaded> Loaded::verify_together(comm::Group& comm, Description description,
                                              std::string& fault) {
  broadcast_description(comm, description);
  Loaded loaded;
  std::string mine;
  comm::agree(comm, fmt::format("read checkpoint {}", description.path.string()), [&] {
    try {
      loaded.own_slabs_ = read_own_slabs(comm, description);
    } catch (const Error& error) {
      if (error.code() != ExitCode::bad_data) throw;
      mine = error.what();
    }
  });
  const auto faults = comm::gather_texts(comm, mine);
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::string& text = faults[static_cast<std::size_t>(rank)];
    if (text.empty()) continue;
    fault = fmt::format("checkpoint {}: {} (seen by rank {} on {})", description.path.string(), text, rank,
                        comm.host(rank));
    return std::nullopt;
  }
  loaded.description_ = std::move(description);
  return loaded;
}

std::string Loaded::misfit(std::span<const TensorView> tensors) const {
  std::map<std::string, const TensorView*> by_name;
  for (const TensorView& view : tensors) by_name[view.name] = &view;
  for (const TensorInfo& tensor : description_.tensors) {
    const auto found = by_name.find(tensor.name);
    if (found == by_name.end()) {
      return fmt::format("it holds tensor {} {}, which this run does not have", tensor.name,
                         shape_text(tensor.shape));
    }
    if (found->second->shape != tensor.shape) {
      return fmt::format("tensor {} has shape {} there and {} in this run", tensor.name,
                         shape_text(tensor.shape), shape_text(found->second->shape));
    }
    by_name.erase(found);
  }
  if (by_name.empty()) return "";
  const TensorView& view = *by_name.begin()->second;
  return fmt::format("it lacks tensor {} {} of this run", view.name, shape_text(view.shape));
}

void Loaded::read(comm::Group& comm, std::span<const TensorView> tensors) const {
  if (const std::string difference = misfit(tensors); !difference.empty()) {
    throw Error(ExitCode::bad_config,
                fmt::format("checkpoint {} does not fit: {}", path().string(), difference));
  }
  std::map<std::string, const TensorView*> by_name;
  for (const TensorView& view : tensors) by_name[view.name] = &view;
  const auto size = static_cast<std::size_t>(comm.size());
  for (std::size_t k = 0; k < description_.slabs.size(); ++k) {
    const SlabRecord& slab = description_.slabs[k];
    const TensorInfo& tensor = description_.tensors[static_cast<std::size_t>(slab.tensor)];
    auto* const whole = reinterpret_cast<std::byte*>(by_name.at(tensor.name)->data);
    const std::span<std::byte> part(whole + slab.first_row * row_bytes(tensor.shape),
                                    static_cast<std::size_t>(slab.bytes));
    const int owner = static_cast<int>(k % size);
    if (owner == comm.rank()) std::memcpy(part.data(), own_slabs_.at(k / size).data(), part.size());
    comm.broadcast(part, owner);
  }
}

std::optional<Loaded> open_newest(comm::Group& comm, const std::filesystem::path& folder, const Warn& warn) {
  const bool root = comm.rank() == 0;
  const auto skip = [&](const std::string& fault) {
    if (root) warn(fault + "; skipped and kept, trying the next older one");
  };
  std::vector<Entry> candidates;
  comm::agree(comm, "list checkpoints", [&] {
    if (!root) return;
    candidates = list(folder);
    for (const std::string& text : unfinished(folder)) warn(text);
  });
  auto next = candidates.begin();
  for (;;) {
    Description description;
    std::int64_t found = 0;
    comm::agree(comm, "resume", [&] {
      for (; root && found == 0 && next != candidates.end(); ++next) {
        try {
          description = describe(next->path);
          found = 1;
        } catch (const Error& error) {
          if (error.code() != ExitCode::bad_data && error.code() != ExitCode::missing_input) throw;
          skip(error.what());
        }
      }
    });
    comm.broadcast(std::as_writable_bytes(std::span(&found, 1)), 0);
    if (found == 0) return std::nullopt;
    std::string fault;
    if (auto loaded = Loaded::verify_together(comm, std::move(description), fault)) return loaded;
    skip(fault);
  }
}

Loaded open_named(comm::Group& comm, const std::filesystem::path& path) {
  Description description;
  comm::agree(comm, "read checkpoint", [&] {
    if (comm.rank() == 0) description = describe(path);
  });
  std::string fault;
  auto loaded = Loaded::verify_together(comm, std::move(description), fault);
  if (!loaded) throw Error(ExitCode::bad_data, fault);
  return std::move(*loaded);
}

}  // namespace lockstep::checkpoint
