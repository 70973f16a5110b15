#include "comm/node_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

#include "comm/host_collectives.h"
#include "comm/room.h"

namespace lockstep::comm {

namespace {

constexpr int where_tag = 20;
constexpr int meet_tag = 21;
constexpr std::size_t page = 4096;

class File {
 public:
  explicit File(int number = -1) : number_(number) {}
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

// What the first rank of a node tells the others; the mark is in the memory's first page as well, since a
// rank elsewhere that goes by the same host name has the same process numbers.
struct NodeMemory::Where {
  std::int64_t process = -1;
  std::int64_t file = -1;
  std::array<unsigned char, 16> mark{};
};

NodeMemory::NodeMemory(Transport& transport, const std::vector<int>& mine)
    : transport_(transport),
      mine_(mine),
      local_(static_cast<int>(std::find(mine.begin(), mine.end(), transport.rank()) - mine.begin())),
      bytes_(page + 2 * mine.size() * room_bytes) {}

NodeMemory::~NodeMemory() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

std::span<std::byte> NodeMemory::room(int local, std::size_t meeting) {
  const std::size_t number = 2 * static_cast<std::size_t>(local) + meeting % 2;
  return {memory_ + page + number * room_bytes, room_bytes};
}

bool NodeMemory::map(int file) {
  void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  return true;
}

bool NodeMemory::create(Where& where) {
  where.file = ::memfd_create("lockstep", MFD_CLOEXEC);
  if (where.file < 0 || ::ftruncate(static_cast<int>(where.file), static_cast<off_t>(bytes_)) != 0)
    return false;
  if (::getrandom(where.mark.data(), where.mark.size(), 0) != static_cast<ssize_t>(where.mark.size()))
    return false;
  if (!map(static_cast<int>(where.file))) return false;
  std::memcpy(memory_, where.mark.data(), where.mark.size());
  where.process = ::getpid();
  return true;
}

bool NodeMemory::open(const Where& where) {
  if (where.process < 0) return false;
  const File file(
      ::open(fmt::format("/proc/{}/fd/{}", where.process, where.file).c_str(), O_RDWR | O_CLOEXEC));
  if (file.number() < 0 || ::lseek(file.number(), 0, SEEK_END) != static_cast<off_t>(bytes_)) return false;
  return map(file.number()) && std::memcmp(memory_, where.mark.data(), where.mark.size()) == 0;
}

std::unique_ptr<NodeMemory> NodeMemory::make(Transport& transport, const std::vector<int>& mine,
                                             double deadline) {
  std::unique_ptr<NodeMemory> memory(new NodeMemory(transport, mine));
  RoomFor<Where> room(transport, 1);
  Where& where = room.values().front();
  File file;
  bool good = true;
  if (memory->local_ == 0) {
    good = memory->create(where);
    file = File(static_cast<int>(where.file));
    for (const int rank : mine) {
      if (rank != transport.rank()) transport.wait(transport.send(rank, where_tag, room.bytes()), deadline);
    }
  } else {
    transport.wait(transport.receive(mine.front(), where_tag, room.bytes()), deadline);
    good = memory->open(where);
  }
  // Everybody's word; after it the memory needs no name any more.
  const auto word = static_cast<std::byte>(good ? 1 : 0);
  Room gathered(transport, static_cast<std::size_t>(transport.size()));
  const auto words = gathered.bytes();
  collectives::all_gather(transport, std::span(&word, 1), words, deadline);
  if (std::find(words.begin(), words.end(), std::byte{0}) != words.end()) return nullptr;
  return memory;
}

// By messages, so that a wait here ends and tells like any other; each rank hears in log2 rounds of all.
void NodeMemory::meet(double deadline) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ++meetings_;
  const int count = locals();
  for (int distance = 1; distance < count; distance *= 2) {
    const auto peer = [&](int local) { return mine_[static_cast<std::size_t>((local + count) % count)]; };
    const auto heard = transport_.receive(peer(local_ - distance), meet_tag, {});
    const auto told = transport_.send(peer(local_ + distance), meet_tag, {});
    transport_.wait(heard, deadline);
    transport_.wait(told, deadline);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace lockstep::comm
