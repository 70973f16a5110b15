#include "nccl_meeting.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "stream.h"

namespace fake_gpu::nccl {

namespace {

constexpr std::array<char, 16> id_mark{"fake NCCL id 1\0"};
constexpr int first_tag = 1 << 24;
constexpr int ids_of_a_rank = 1 << 12;

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

// Two for each communicator: for the meeting, and for all that follows.
int tag_of(const Place& place) {
  return first_tag + 2 * (place.root * ids_of_a_rank + place.number);
}

std::string device_of_this_process() {
  std::array<char, 64> host{}, address{};
  ::gethostname(host.data(), host.size() - 1);
  const char* node = std::getenv("SLURMD_NODENAME");
  int device = 0;
  cudaGetDevice(&device);
  cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device);
  return std::string(node != nullptr ? node : host.data()) + " " + address.data();
}

bool is_done(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

}  // namespace

Place new_place() {
  static int number = 0;
  Place place;
  place.mark = id_mark;
  place.root = world_rank();
  place.number = number++;
  if (place.number >= ids_of_a_rank) die("more than 4096 NCCL communicators of one rank");
  return place;
}

ncclUniqueId to_id(const Place& place) {
  ncclUniqueId id{};
  std::memcpy(id.internal, &place, sizeof place);
  return id;
}

Place from_id(const ncclUniqueId& id) {
  Place place;
  std::memcpy(&place, id.internal, sizeof place);
  if (place.mark != id_mark) die("ncclCommInitRankConfig: not a unique id of ncclGetUniqueId");
  return place;
}

Meeting::Meeting(const Place& place, int rank, int size)
    : root_(place.root), tag_(tag_of(place)), all_(static_cast<std::size_t>(size)), missing_(size) {
  line_.rank = rank;
  line_.tag = tag_ + 1;
  mine_.rank = rank;
  mine_.size = size;
  mine_.world = world_rank();
  device_of_this_process().copy(mine_.device.data(), mine_.device.size() - 1);
  if (mine_.world == root_) {
    note(mine_);
  } else {
    tellings_.emplace_back();
    MPI_Isend(&mine_, sizeof mine_, MPI_BYTE, root_, tag_, MPI_COMM_WORLD, &tellings_.back());
    MPI_Irecv(all_.data(), static_cast<int>(all_.size() * sizeof(Hello)), MPI_BYTE, root_, tag_,
              MPI_COMM_WORLD, &request_);
  }
}

void Meeting::note(const Hello& hello) {
  if (hello.size != mine_.size) die("ncclCommInitRankConfig: ranks differ in their number of ranks");
  Hello& place = all_.at(static_cast<std::size_t>(hello.rank));
  if (place.size != 0) die("ncclCommInitRankConfig: rank " + std::to_string(hello.rank) + " comes twice");
  place = hello;
  --missing_;
}

bool Meeting::poll() {
  if (mine_.world == root_) {
    while (missing_ > 0) {
      if (request_ == MPI_REQUEST_NULL) {
        MPI_Irecv(&coming_, sizeof coming_, MPI_BYTE, MPI_ANY_SOURCE, tag_, MPI_COMM_WORLD, &request_);
      }
      if (!is_done(request_)) return false;
      note(coming_);
      if (missing_ > 0) continue;
      for (const Hello& each : all_) {
        if (each.world == root_) continue;
        tellings_.emplace_back();
        MPI_Isend(all_.data(), static_cast<int>(all_.size() * sizeof(Hello)), MPI_BYTE, each.world, tag_,
                  MPI_COMM_WORLD, &tellings_.back());
      }
    }
  } else if (!is_done(request_)) {
    return false;
  }
  for (MPI_Request& telling : tellings_) {
    if (!is_done(telling)) return false;
  }
  line_.world.clear();
  for (const Hello& each : all_) line_.world.push_back(each.world);
  return true;
}

bool Meeting::shares_device() const {
  int same = 0;
  for (const Hello& each : all_) same += each.device == mine_.device ? 1 : 0;
  return same > 1;
}

}  // namespace fake_gpu::nccl
