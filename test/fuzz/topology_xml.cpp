// Topology files: whatever comes in, there is a verdict, and what is said of it is one printable line.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "topology/nccl_xml.h"

using namespace lockstep::spank;

// Words that the driver weaves into its inputs.
extern "C" const char* const fuzz_dictionary[];
const char* const fuzz_dictionary[] = {"<system version=\"1\">",
                                       "</system>",
                                       "<cpu numaid=\"0\" affinity=\"ffffffff\">",
                                       "</cpu>",
                                       "<pci busid=\"0000:17:00.0\" class=\"0x030200\">",
                                       "</pci>",
                                       "<pci busid=\"FFFF:ff:01.0\">",
                                       "<gpu/>",
                                       "<nic>",
                                       "</nic>",
                                       "<net/>",
                                       "<!--",
                                       "-->",
                                       "/>",
                                       "'",
                                       "\"",
                                       "=",
                                       "  ",
                                       "\r\n",
                                       "numaid=\"-1\"",
                                       "version=\"2\"",
                                       nullptr};

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

bool is_line(const std::string& text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; });
}

Machine node() {
  Machine machine;
  machine.numa_nodes = {{0, "0-31", "ffffffff"}};
  PciDevice gpu;
  gpu.busid = "0000:17:00.0";
  gpu.device_class = "0x030200";
  gpu.vendor = "0x10de";
  gpu.local_cpus = "0-31";
  machine.devices = {gpu};
  return machine;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const TopologyFile file = parse_topology(std::string_view(reinterpret_cast<const char*>(data), size));
  const bool loaded = file.verdict == TopologyFile::Verdict::loaded;
  require(loaded == file.system.has_value());
  require(loaded ? file.reason.empty() : is_line(file.reason));
  if (loaded) {
    for (const std::string& difference : misfits(*file.system, node())) require(is_line(difference));
  }
  return 0;
}
