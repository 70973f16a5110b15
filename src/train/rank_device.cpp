#include "train/rank_device.h"

#include <fmt/format.h>

#include "comm/agreement.h"
#include "core/error.h"
#include "device/open_device.h"

namespace lockstep::train {

namespace {

device::DeviceRequest request_of(const comm::Group& ranks, const std::string& kind, int threads) {
  device::DeviceRequest request{kind, threads, 0, 0};
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (ranks.host(rank) != ranks.host(ranks.rank())) continue;
    if (rank < ranks.rank()) ++request.local_rank;
    ++request.local_size;
  }
  return request;
}

}  // namespace

std::unique_ptr<device::Device> open_rank_device(comm::Group& ranks, const std::string& kind, int threads,
                                                 const Log& log) {
  device::OpenedDevice opened;
  comm::agree(ranks, "open the device",
              [&] { opened = device::open_device(request_of(ranks, kind, threads)); });
  const auto kinds = comm::gather_texts(ranks, opened.device->kind());
  for (std::size_t rank = 1; rank < kinds.size(); ++rank) {
    if (kinds[rank] == kinds[0]) continue;
    throw AgreedError(
        ExitCode::bad_config,
        fmt::format("rank {} on {} computes on {}, rank 0 on {} on {}: all ranks need the same kind of device; "
                    "ask for GPUs on all nodes, or set train.device",
                    rank, ranks.host(static_cast<int>(rank)), kinds[rank], ranks.host(0), kinds[0]));
  }
  if (ranks.rank() == 0 && !opened.note.empty() && kind == "cuda") log.info(opened.note);
  return std::move(opened.device);
}

}  // namespace lockstep::train
