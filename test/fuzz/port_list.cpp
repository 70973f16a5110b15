// Port lists: whatever is taken is within bounds, free of duplicates, and reads the same when written out.
#include "step/port_list.h"

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

using namespace lockstep::spank;

extern "C" const char* const fuzz_dictionary[] = {",", "-", "41000-41002", "65535", "65536", "0", nullptr};

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto ports = parse_port_list({reinterpret_cast<const char*>(data), size});
  if (!ports) return 0;
  require(!ports->empty() && ports->size() <= 65535);
  require(std::set<int>(ports->begin(), ports->end()).size() == ports->size());
  std::string plain;
  for (const int port : *ports) {
    require(port >= 1 && port <= 65535);
    plain += (plain.empty() ? "" : ",") + std::to_string(port);
  }
  require(parse_port_list(plain) == ports);
  return 0;
}
