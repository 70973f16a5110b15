#include "machine/node_facts.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

#include <array>
#include <limits>
#include <memory>

#include "core/text.h"
#include "machine/tree.h"

namespace lockstep::spank {

namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t file_limit = 256 * 1024;

struct FreeAddresses {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (bytes == nullptr) return {};
  return ::inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr ? "" : text.data();
}

std::uint64_t bytes_of(const std::string& text) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, parse_int(text).value_or(0)));
}

}  // namespace

std::optional<Address> parse_address(const std::string& text) {
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return Address{false, text, (ntohl(v4.s_addr) >> 16) == 0xa9fe};
  }
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    return Address{true, text, v6.s6_addr[0] == 0xfe && (v6.s6_addr[1] & 0xc0) == 0x80};
  }
  return std::nullopt;
}

NodeFacts live_node_facts() {
  NodeFacts facts;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) == 0) {
    const std::unique_ptr<ifaddrs, FreeAddresses> owned(list);
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
      if (each->ifa_addr == nullptr) continue;
      if (const auto address = parse_address(text_of(each->ifa_addr))) {
        facts.addresses.emplace_back(each->ifa_name, *address);
      }
    }
  }
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0) facts.shm_bytes = std::uint64_t{shm.f_blocks} * shm.f_frsize;
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    facts.memlock_bytes = limit.rlim_max == RLIM_INFINITY ? unlimited : limit.rlim_max;
  }
  return facts;
}

NodeFacts parse_node_facts(std::string_view text) {
  NodeFacts facts;
  for (const std::string& line : split(text, '\n')) {
    const auto words = split(trim(line), ' ');
    if (words.size() == 3 && words[0] == "address") {
      if (const auto address = parse_address(words[2])) facts.addresses.emplace_back(words[1], *address);
    }
    if (words.size() != 2) continue;
    if (words[0] == "node") facts.node = words[1];
    if (words[0] == "shm") facts.shm_bytes = bytes_of(words[1]);
    if (words[0] == "memlock") facts.memlock_bytes = words[1] == "unlimited" ? unlimited : bytes_of(words[1]);
  }
  return facts;
}

std::string write_node_facts(const NodeFacts& facts) {
  std::string text;
  if (!facts.node.empty()) text += fmt::format("node {}\n", facts.node);
  for (const auto& [interface, address] : facts.addresses) {
    text += fmt::format("address {} {}\n", interface, address.text);
  }
  if (facts.shm_bytes != 0) text += fmt::format("shm {}\n", facts.shm_bytes);
  if (facts.memlock_bytes == unlimited) {
    text += "memlock unlimited\n";
  } else if (facts.memlock_bytes != 0) {
    text += fmt::format("memlock {}\n", facts.memlock_bytes);
  }
  return text;
}

NodeFacts read_node_facts(const std::filesystem::path& root) {
  const MachineSource source{root};
  return parse_node_facts(Tree(source).text(node_facts_file, file_limit).value_or(""));
}

}  // namespace lockstep::spank
