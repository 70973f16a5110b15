#include "train/rank_device.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "comm/agreement.h"
#include "core/cpus.h"
#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device/open_device.h"

namespace lockstep::train {

namespace {

std::vector<device::GpuView> gather_views(comm::Group& ranks, const std::vector<device::Gpu>& gpus) {
  std::vector<device::GpuView> views;
  for (const std::string& text :
       comm::gather_texts(ranks, device::to_text(device::view_of(gpus, usable_cpu_set(), "/sys")))) {
    views.push_back(device::gpu_view(text));
  }
  return views;
}

std::vector<std::string> nodes_of(const comm::Group& ranks) {
  std::vector<std::string> nodes;
  for (int rank = 0; rank < ranks.size(); ++rank) nodes.push_back(ranks.host(rank));
  return nodes;
}

}  // namespace

void require_one_kind(std::span<const device::GpuView> views, std::span<const std::string> nodes) {
  const auto has = [](const device::GpuView& view) { return view.ids.empty() ? "no GPU" : "GPUs"; };
  for (std::size_t rank = 1; rank < views.size(); ++rank) {
    if (views[rank].ids.empty() == views[0].ids.empty()) continue;
    throw AgreedError(
        ExitCode::bad_config,
        fmt::format("rank {} on {} has {}, rank 0 on {} has {}: all ranks need the same kind of "
                    "device; ask for GPUs on all nodes, or set train.device = cpu",
                    rank, nodes[rank], has(views[rank]), nodes[0], has(views[0])));
  }
}

int choose_gpu(std::span<const device::GpuView> views, std::span<const std::string> nodes, int rank) {
  const std::string& node = nodes[static_cast<std::size_t>(rank)];
  std::vector<device::GpuView> here;
  std::size_t me = 0;
  for (std::size_t other = 0; other < views.size(); ++other) {
    if (nodes[other] != node) continue;
    if (other == static_cast<std::size_t>(rank)) me = here.size();
    here.push_back(views[other]);
  }
  return device::share_gpus(here, node)[me];
}

std::unique_ptr<device::Device> open_rank_device(comm::Group& ranks, const Config::Train& config, int threads,
                                                 const Log& log) {
  device::FoundGpus found;
  comm::agree(ranks, "find a GPU", [&] { found = device::find_gpus(config.device); });
  const auto views = gather_views(ranks, found.gpus);
  const auto nodes = nodes_of(ranks);
  require_one_kind(views, nodes);
  std::unique_ptr<device::Device> device;
  if (found.gpus.empty()) {
    if (!found.reason.empty()) log.info("computing on the CPU: " + found.reason);
    comm::agree(ranks, "open the CPU", [&] { device = std::make_unique<device::CpuDevice>(threads); });
    return device;
  }
  int place = 0;
  comm::agree(ranks, "choose a GPU", [&] { place = choose_gpu(views, nodes, ranks.rank()); });
  comm::agree(ranks, "open the GPU", [&] { device = device::open_gpu(place, config.device_memory); });
  return device;
}

}  // namespace lockstep::train
