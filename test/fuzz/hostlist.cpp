// Host lists: only the documented error, within the limits, first host and expansion agree, names hold no
// syntax.
#include "step/hostlist.h"

#include <cstdint>
#include <cstdlib>

using namespace lockstep::spank;

extern "C" const char* const fuzz_dictionary[] = {"[",       "]", ",",     "-", "[1-3]",
                                                  "[08-11]", "0", "99999", "n", nullptr};

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool holds_syntax(const std::string& name) {
  return name.empty() || name.find_first_of(std::string_view("[], \t\n\0", 7)) != std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view list(reinterpret_cast<const char*>(data), size);
  constexpr std::size_t limit = 5000;
  std::optional<std::vector<std::string>> hosts;
  try {
    hosts = expand_hostlist(list, limit);
  } catch (const HostlistError&) {
  }
  std::optional<std::string> first;
  bool first_fails = false;
  try {
    first = first_host(list);
  } catch (const HostlistError&) {
    first_fails = true;
  }
  if (!hosts) return 0;

  require(!first_fails && hosts->size() <= limit);
  require(first.has_value() == !hosts->empty());
  require(!first || *first == hosts->front());
  std::string plain;
  for (const std::string& host : *hosts) {
    require(!holds_syntax(host) && host.size() <= 255);
    plain += host + ",";
  }
  require(expand_hostlist(plain, limit) == *hosts);
  return 0;
}
