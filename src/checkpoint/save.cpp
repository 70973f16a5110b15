#include "checkpoint/save.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>

#include "checkpoint/layout.h"
#include "checkpoint/seal.h"
#include "comm/agreement.h"
#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/text.h"
#include "hdf5/collective.h"

namespace lockstep::checkpoint {

namespace {

class Stopwatch {
 public:
  // Seconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void require_valid_keys(const State& state) {
  static const std::set<std::string> taken = {"step", "samples", "epoch", "format", "slabs", "tensors"};
  for (const auto& [key, value] : state.values) {
    const bool plain = std::all_of(
        key.begin(), key.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
    const auto* text = std::get_if<std::string>(&value);
    if (key.empty() || !plain || taken.count(key) != 0) {
      throw Error(ExitCode::bad_config, fmt::format("'{}' cannot be a key of a checkpoint's state", key));
    }
    if (text != nullptr && text->find('\0') != std::string::npos) {
      throw Error(ExitCode::bad_config,
                  fmt::format("the value of '{}' in a checkpoint's state has a NUL", key));
    }
  }
}

void require_valid_names(std::span<const TensorInfo> tensors) {
  std::set<std::string> seen;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.name.empty() || tensor.name.front() == '/' || tensor.name.starts_with("meta/") ||
        !seen.insert(tensor.name).second) {
      throw Error(
          ExitCode::bad_config,
          fmt::format("'{}' cannot be a tensor's name in a checkpoint, or occurs twice", tensor.name));
    }
  }
}

void require_free_space(const std::filesystem::path& folder, std::int64_t needed) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) {
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot learn the free space of {}: {}", folder.string(), std::strerror(errno)));
  }
  const double free = static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
  if (free < static_cast<double>(needed)) {
    throw Error(ExitCode::cannot_create,
                fmt::format("{} has {} free, the checkpoint needs {}: make room, or keep fewer checkpoints",
                            folder.string(), human_bytes(free), human_bytes(static_cast<double>(needed))));
  }
}

// One save, from the arguments to the renamed file.
class Saver {
 public:
  Saver(comm::MpiGroup& comm, const std::filesystem::path& folder, std::span<const TensorView> views,
        const SaveOptions& options)
      : comm_(comm), folder_(folder), views_(views), options_(options) {
    for (const TensorView& view : views) tensors_.push_back({view.name, view.shape});
  }

  SaveReport run(const State& state) {
    agree_on_arguments(state);
    temporary_ = folder_ / temporary_name(state_.step, options_.attempt);
    report_.path = folder_ / file_name(state_.step);
    try {
      create();
      write_tensors();
      write_table();
      close();
      publish();
    } catch (const Error& error) {
      if (error.code() != ExitCode::peer_failed) clean_up();
      throw;
    }
    return report_;
  }

 private:
  bool root() const { return comm_.rank() == 0; }

  void agree(std::string_view what, const std::function<void()>& work) { comm::agree(comm_, what, work); }

  void agree_on_arguments(const State& state) {
    agree("save a checkpoint", [&] {
      require_valid_names(tensors_);
      if (root()) require_valid_keys(state);
      slabs_ = plan_slabs(tensors_, comm_.size(), options_.slab_bytes);
    });
    const std::string mine = pack({}, tensors_) + std::to_string(options_.slab_bytes);
    const auto hashes = comm::gather_values(comm_, hash64(mine));
    for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
      if (hashes[rank] == hashes[0]) continue;
      throw Error(ExitCode::internal,
                  fmt::format("cannot save a checkpoint: ranks 0 and {} have different tensors", rank));
    }
    std::string packed = pack(state, {});
    comm::broadcast_text(comm_, packed, 0);
    std::vector<TensorInfo> none;
    unpack(packed, state_, none);
  }

  // Rank 0 lays the file out and takes its space on the disk, so that a full disk or quota shows before any
  // collective call; then every rank makes sure that it reaches the file, because HDF5 cannot cope with a
  // single rank that fails to open it.
  void create() {
    agree(fmt::format("create {}", temporary_.string()), [&] {
      if (!root()) return;
      std::int64_t needed = std::int64_t{1} << 20;
      for (const SlabRecord& slab : slabs_) needed += slab.bytes + static_cast<std::int64_t>(sizeof slab);
      require_free_space(folder_, needed);
      table_offset_ = lay_out(temporary_, state_, tensors_, slabs_);
    });
    comm_.broadcast(std::as_writable_bytes(std::span(slabs_)), 0);
    agree(fmt::format("reach {} from every rank", temporary_.string()),
          [&] { open_file(temporary_, O_WRONLY, 0, ExitCode::cannot_create); });
    file_.emplace(
        comm_.native(),
        [this](std::string_view what, const std::function<void()>& work) { agree(what, work); },
        temporary_.string());
    report_.create_seconds = stopwatch_.lap();
  }

  // Tensor by tensor; as many rounds on every rank as the rank with most slabs needs.
  void write_tensors() {
    std::vector<std::int64_t> hashes(slabs_.size());
    for (std::size_t begin = 0; begin < slabs_.size();) {
      const auto index = static_cast<std::size_t>(slabs_[begin].tensor);
      std::vector<std::vector<std::size_t>> by_writer(static_cast<std::size_t>(comm_.size()));
      std::size_t rounds = 0;
      for (; begin < slabs_.size() && slabs_[begin].tensor == static_cast<std::int64_t>(index); ++begin) {
        auto& theirs = by_writer[static_cast<std::size_t>(slabs_[begin].writer)];
        theirs.push_back(begin);
        rounds = std::max(rounds, theirs.size());
      }
      const std::string& name = tensors_[index].name;
      const hdf5::Dataset dataset = file_->open(name);
      const auto& own = by_writer[static_cast<std::size_t>(comm_.rank())];
      for (std::size_t round = 0; round < rounds; ++round) {
        hdf5::Slab part;
        if (round < own.size()) {
          const SlabRecord& slab = slabs_[own[round]];
          const auto bytes = bytes_of(slab);
          part = {static_cast<hsize_t>(slab.first_row), static_cast<hsize_t>(slab.rows), bytes.data()};
          hashes[own[round]] = static_cast<std::int64_t>(hash64(bytes));
        }
        file_->write(dataset, name, H5T_IEEE_F32LE, part);
      }
    }
    tensor_bytes_ = file_->bytes_written();
    // Each slab has one writer, the others bring 0.
    comm_.all_reduce_sum(hashes);
    for (std::size_t k = 0; k < slabs_.size(); ++k) slabs_[k].hash = static_cast<std::uint64_t>(hashes[k]);
  }

  std::span<const std::byte> bytes_of(const SlabRecord& slab) const {
    const TensorView& view = views_[static_cast<std::size_t>(slab.tensor)];
    const auto* whole = reinterpret_cast<const std::byte*>(view.data);
    return {whole + slab.first_row * row_bytes(view.shape), static_cast<std::size_t>(slab.bytes)};
  }

  void write_table() {
    if (!slabs_.empty()) {
      const hdf5::Dataset table = file_->open(slab_table);
      const hsize_t rows = root() ? slabs_.size() : 0;
      file_->write(table, slab_table, slab_record_type().get(), {0, rows, slabs_.data()});
    }
    report_.write_seconds = stopwatch_.lap();
  }

  void close() {
    report_.transfers = file_->transfers();
    file_->flush();
    file_->close();
    file_.reset();
    report_.bytes_by_rank = comm::gather_values(comm_, tensor_bytes_);
    report_.flush_seconds = stopwatch_.lap();
  }

  void publish() {
    agree(fmt::format("publish {}", report_.path.string()), [&] {
      if (!root()) return;
      const FileDescriptor file = open_file(temporary_, O_RDWR, 0, ExitCode::cannot_create);
      write_seal(file.get());
      options_.fence();
      rename_durably(temporary_, report_.path);
    });
    comm_.broadcast(std::as_writable_bytes(std::span(&report_.file_bytes, 1)), 0);
    report_.publish_seconds = stopwatch_.lap();
  }

  void write_seal(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) throw_errno("learn the size of");
    report_.file_bytes = status.st_size;
    Seal seal{state_.step, report_.file_bytes, table_offset_, static_cast<std::int64_t>(slabs_.size()), 0};
    seal.structure_hash = structure_hash(fd, seal.file_bytes, slabs_);
    const std::string text = render(seal);
    if (::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) throw_errno("seal");
    if (::fsync(fd) != 0) throw_errno("fsync");
  }

  [[noreturn]] void throw_errno(std::string_view what) const {
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot {} {}: {}", what, temporary_.string(), std::strerror(errno)));
  }

  // After a failure that all ranks know of. The error that brought us here is the one worth telling.
  void clean_up() {
    try {
      if (file_) file_->close();
    } catch (const Error& error) {
      if (error.code() == ExitCode::peer_failed) throw;
    }
    file_.reset();
    if (root()) ::unlink(temporary_.c_str());
  }

  comm::MpiGroup& comm_;
  std::filesystem::path folder_;
  std::span<const TensorView> views_;
  const SaveOptions& options_;
  State state_;
  std::vector<TensorInfo> tensors_;
  std::vector<SlabRecord> slabs_;
  std::filesystem::path temporary_;
  std::optional<hdf5::CollectiveFile> file_;
  std::int64_t table_offset_ = 0;  // on rank 0
  std::int64_t tensor_bytes_ = 0;
  Stopwatch stopwatch_;
  SaveReport report_;
};

}  // namespace

SaveReport save(comm::MpiGroup& comm, const std::filesystem::path& folder, const State& state,
                std::span<const TensorView> tensors, const SaveOptions& options) {
  return Saver(comm, folder, tensors, options).run(state);
}

}  // namespace lockstep::checkpoint
