#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "device/gpu.h"
#include "temp_folder.h"

using Catch::Matchers::Contains;
using lockstep::CpuSet;
using lockstep::Error;
using lockstep::parse_cpu_list;
using namespace lockstep::device;

namespace {

using Places = std::vector<int>;

std::string refusal(const std::vector<GpuView>& ranks) {
  try {
    share_gpus(ranks, "node7");
  } catch (const Error& error) {
    CHECK(error.code() == lockstep::ExitCode::bad_config);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("ranks that see the same GPUs get them in order", "[device]") {
  const GpuView both{{"GPU-a", "GPU-b"}, {}};
  CHECK(share_gpus(std::vector{both, both}, "node7") == Places{0, 1});
  CHECK(share_gpus(std::vector{both}, "node7") == Places{0});
}

TEST_CASE("ranks that see one GPU each take it", "[device]") {
  const std::vector<GpuView> ranks{{{"GPU-b"}, {}}, {{"GPU-a"}, {}}, {{"GPU-c"}, {0}}};
  CHECK(share_gpus(ranks, "node7") == Places{0, 0, 0});
}

TEST_CASE("a GPU near the rank's CPUs comes first, where there is one for each rank", "[device]") {
  const std::vector<std::string> ids{"GPU-a", "GPU-b", "GPU-c", "GPU-d"};
  CHECK(share_gpus(std::vector<GpuView>{{ids, {2, 3}}, {ids, {0, 1}}, {ids, {2, 3}}, {ids, {0, 1}}}, "n") ==
        Places{2, 0, 3, 1});
  // The first rank must leave the second its only one.
  CHECK(share_gpus(std::vector<GpuView>{{ids, {0, 1}}, {ids, {0}}}, "n") == Places{1, 0});
  // Three ranks near two GPUs: by the order of ranks.
  CHECK(share_gpus(std::vector<GpuView>{{ids, {2, 3}}, {ids, {2, 3}}, {ids, {2, 3}}}, "n") ==
        Places{0, 1, 2});
}

TEST_CASE("more ranks than GPUs are refused", "[device]") {
  const GpuView both{{"GPU-a", "GPU-b"}, {}};
  CHECK_THAT(
      refusal({both, both, both}),
      Contains("3 ranks on node7 see 2 GPUs (GPU-a, GPU-b), and each needs one of its own: start 2 ranks"));
  const GpuView slice{{"MIG-a"}, {}};
  CHECK_THAT(refusal({slice, slice}),
             Contains("2 ranks on node7 see 1 MIG instance (MIG-a)") && Contains("--gpus-per-task=1"));
  CHECK(refusal({slice, {{"MIG-b"}, {}}}) == "accepted");
  CHECK_THAT(refusal({both, {}}), Contains("2 ranks on node7 see 2 GPUs"));
}

TEST_CASE("a GPU is near where its NUMA node has all CPUs of the rank", "[device]") {
  const TempFolder sysfs;
  for (const auto& [address, cpus] :
       {std::pair("0000:1a:00.0", "0-3,8-11\n"), {"0000:2a:00.0", "4-7\n"}, {"0000:3a:00.0", "\n"}}) {
    const auto folder = sysfs.path() / "bus/pci/devices" / address;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "local_cpulist") << cpus;
  }
  const std::vector<Gpu> gpus{{"GPU-a", "0000:1a:00.0", "a GPU"},
                              {"GPU-b", "0000:2a:00.0", "a GPU"},
                              {"GPU-c", "0000:3a:00.0", "a GPU"},
                              {"GPU-d", "0000:4a:00.0", "a GPU"}};
  const auto near = [&](const char* cpus) { return view_of(gpus, parse_cpu_list(cpus), sysfs.path()).near; };
  CHECK(near("2,9") == Places{0});
  CHECK(near("4-7") == Places{1});
  CHECK(near("3-4").empty());
  CHECK(view_of(gpus, std::nullopt, sysfs.path()).near.empty());

  const GpuView view = view_of(gpus, parse_cpu_list("5"), sysfs.path());
  const GpuView read = gpu_view(to_text(view));
  CHECK(read.ids == view.ids);
  CHECK(read.near == view.near);
  CHECK(gpu_view(to_text({})).ids.empty());
}
