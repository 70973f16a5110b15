// NCCL's files, against a reader that works as NCCL's does: with C's own functions on the file's bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "site/nccl_conf.h"
#include "site/variables.h"

using namespace lockstep::spank;

extern "C" const char* const fuzz_dictionary[] = {"=",  "\n",  "\r\n", "#",    "NCCL_DEBUG",
                                                  "0x", "8MB", "-",    nullptr};

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Pairs read_by_stdio(std::string text) {
  Pairs pairs;
  if (text.empty()) return pairs;
  const std::unique_ptr<std::FILE, Close> file(::fmemopen(text.data(), text.size(), "r"));
  require(file != nullptr);
  char line[4096];
  while (pairs.size() < 1000 && std::fgets(line, sizeof line, file.get()) != nullptr) {
    std::string_view rest = line;  // to the first NUL
    // A NUL before the line feed hides it.
    for (const char end : {'\n', '\r'}) {
      if (rest.ends_with(end)) rest.remove_suffix(1);
    }
    if (rest.starts_with('#')) continue;
    const auto equals = rest.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    pairs.emplace_back(rest.substr(0, std::min<std::size_t>(equals, 1023)), rest.substr(equals + 1, 1023));
  }
  return pairs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const NcclConf conf = parse_nccl_conf(text, "nccl.conf");
  Pairs pairs;
  int line = 1;
  for (const NcclConf::Entry& entry : conf.entries) {
    pairs.emplace_back(entry.variable, entry.value);
    require(entry.line >= line);
    line = entry.line;
    require(conf.find(entry.variable) != nullptr);
    (void)fault_of_value(entry.variable, entry.value);
    const auto fault = fault_of_value("NCCL_BUFFSIZE", entry.value);
    // Silence means that NCCL reads the number that is written.
    if (!fault && !entry.value.empty()) {
      require(is_on(entry.value) == (std::strtoll(entry.value.c_str(), nullptr, 0) != 0));
    }
  }
  require(pairs == read_by_stdio(text));
  return 0;
}
