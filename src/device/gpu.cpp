#include "device/gpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace lockstep::device {

namespace {

bool is_near(const Gpu& gpu, const CpuSet& cpus, const std::string& sysfs) {
  const auto text = read_text(fmt::format("{}/bus/pci/devices/{}/local_cpulist", sysfs, gpu.address));
  const auto local = text ? parse_cpu_list(*text) : std::nullopt;
  return local && local->any() && (cpus & ~*local).none();
}

// Gives each rank one of its candidates (places in its ids): a matching by augmenting paths. Where candidates
// are free it takes the first of them, so that ranks that see the same GPUs get them in order.
class Matching {
 public:
  Matching(std::span<const GpuView> ranks, std::vector<std::vector<int>> candidates)
      : ranks_(ranks), candidates_(std::move(candidates)), places_(ranks.size(), -1) {}

  bool complete() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      std::set<std::string> tried;
      if (!seat(rank, tried)) return false;
    }
    return true;
  }
  const std::vector<int>& places() const { return places_; }

 private:
  const std::string& id(std::size_t rank, int place) const {
    return ranks_[rank].ids[static_cast<std::size_t>(place)];
  }
  void give(std::size_t rank, int place) {
    owner_[id(rank, place)] = rank;
    places_[rank] = place;
  }
  bool seat(std::size_t rank, std::set<std::string>& tried) {
    for (const int place : candidates_[rank]) {
      if (owner_.contains(id(rank, place))) continue;
      give(rank, place);
      return true;
    }
    for (const int place : candidates_[rank]) {
      if (!tried.insert(id(rank, place)).second) continue;
      if (!seat(owner_.at(id(rank, place)), tried)) continue;
      give(rank, place);
      return true;
    }
    return false;
  }

  std::span<const GpuView> ranks_;
  std::vector<std::vector<int>> candidates_;
  std::vector<int> places_;
  std::map<std::string, std::size_t> owner_;  // GPU -> rank
};

}  // namespace

GpuView view_of(std::span<const Gpu> gpus, const std::optional<CpuSet>& cpus, const std::string& sysfs) {
  GpuView view;
  for (const Gpu& gpu : gpus) {
    if (cpus && is_near(gpu, *cpus, sysfs)) view.near.push_back(static_cast<int>(view.ids.size()));
    view.ids.push_back(gpu.id);
  }
  return view;
}

std::vector<int> share_gpus(std::span<const GpuView> ranks, const std::string& node) {
  std::vector<std::vector<int>> near;
  std::vector<std::vector<int>> all;
  std::set<std::string> gpus;
  for (const GpuView& rank : ranks) {
    near.push_back(rank.near);
    std::vector<int>& places = all.emplace_back(rank.ids.size());
    std::iota(places.begin(), places.end(), 0);
    gpus.insert(rank.ids.begin(), rank.ids.end());
  }
  for (const auto& candidates : {near, all}) {
    Matching matching(ranks, candidates);
    if (matching.complete()) return matching.places();
  }
  const bool slices =
      std::any_of(gpus.begin(), gpus.end(), [](const std::string& id) { return id.starts_with("MIG-"); });
  throw Error(ExitCode::bad_config,
              fmt::format("{} ranks on {} see {} {}{} ({}), and each needs one of its own: start {} per node "
                          "(--ntasks-per-node), ask for more ({}), or set train.device = cpu",
                          ranks.size(), node, gpus.size(), slices ? "MIG instance" : "GPU",
                          gpus.size() == 1 ? "" : "s", fmt::join(gpus, ", "),
                          gpus.size() == 1 ? std::string("1 rank") : fmt::format("{} ranks", gpus.size()),
                          slices ? "one instance for each task, --gpus-per-task=1" : "--gpus-per-node"));
}

std::string to_text(const GpuView& view) {
  return fmt::format("{};{}", fmt::join(view.ids, ","), fmt::join(view.near, ","));
}

GpuView gpu_view(const std::string& text) {
  const std::size_t middle = text.find(';');
  GpuView view{split(text.substr(0, middle), ','), {}};
  for (const std::string& place : split(text.substr(middle + 1), ',')) {
    view.near.push_back(static_cast<int>(parse_int(place).value()));
  }
  return view;
}

}  // namespace lockstep::device
