#include "command/without_mac.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockstep::spank {

namespace {

using Bytes = std::array<unsigned char, 16>;

// fe80::/10 addresses made from InfiniBand GUIDs have no mark in the middle: all of them are taken for such.
bool names_hardware(const Bytes& bytes) {
  const bool eui64 = bytes[11] == 0xff && bytes[12] == 0xfe;
  const bool link_local = bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
  return eui64 || link_local;
}

}  // namespace

std::string without_mac(const std::string& address) {
  Bytes bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1 || !names_hardware(bytes)) return address;
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  bytes.back() = 1;
  constexpr std::size_t gid_size = 39;  // eight groups of four digits
  if (address.size() == gid_size) {
    std::string gid;
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
      gid += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", bytes[i], bytes[i + 1]);
    }
    return gid;
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return text.data();
}

}  // namespace lockstep::spank
