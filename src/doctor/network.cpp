#include "doctor/network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "core/text.h"
#include "doctor/machine.h"

namespace lockstep::doctor {

namespace {

// Open MPI's default for btl_tcp_if_exclude.
constexpr const char* default_exclude = "127.0.0.1/8,sppp";

std::uint32_t number_of(const std::string& address) {
  in_addr number{};
  return ::inet_pton(AF_INET, address.c_str(), &number) == 1 ? ntohl(number.s_addr) : 0;
}

std::uint32_t network_of(const std::string& address, int prefix) {
  return prefix <= 0 ? 0 : number_of(address) >> (32 - std::min(prefix, 32));
}

// Is the interface one of the names and networks?
bool is_named(const std::string& list, const Interface& interface) {
  for (const std::string& word : split(list, ',')) {
    const std::string entry(trim(word));
    const auto slash = entry.find('/');
    if (slash == std::string::npos) {
      if (entry == interface.name) return true;
      continue;
    }
    const int prefix = static_cast<int>(parse_int(entry.substr(slash + 1)).value_or(32));
    if (network_of(entry.substr(0, slash), prefix) == network_of(interface.address, prefix)) return true;
  }
  return false;
}

// "name = value" in a file of parameters; empty where it is not there.
std::string parameter(const std::string& file, const std::string& name) {
  std::ifstream stream(file);
  std::string value;
  for (std::string line; std::getline(stream, line);) {
    const auto equals = line.find('=');
    if (equals != std::string::npos && trim(line.substr(0, equals)) == name)
      value = trim(line.substr(equals + 1));
  }
  return value;
}

std::string parameter(const std::string& name) {
  if (const char* value = std::getenv(("OMPI_MCA_" + name).c_str())) return value;
  const char* home = std::getenv("HOME");
  if (home != nullptr) {
    if (auto value = parameter(std::string(home) + "/.openmpi/mca-params.conf", name); !value.empty())
      return value;
  }
  return parameter("/etc/openmpi/openmpi-mca-params.conf", name);
}

}  // namespace

std::vector<Interface> interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    constexpr unsigned up = IFF_UP | IFF_RUNNING;
    if (at->ifa_addr == nullptr || at->ifa_netmask == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    if ((at->ifa_flags & up) != up || (at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    // The casts are the socket interface's own idiom.
    const auto* address = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    const auto* mask = reinterpret_cast<const sockaddr_in*>(at->ifa_netmask);
    char text[INET_ADDRSTRLEN] = "";
    ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
    const std::string folder = fmt::format("/sys/class/net/{}/", at->ifa_name);
    const std::int64_t mbit = parse_int(first_line(folder + "speed")).value_or(0);
    found.push_back({at->ifa_name, text, std::popcount(mask->sin_addr.s_addr),
                     std::max<std::int64_t>(mbit, 0), parse_int(first_line(folder + "mtu")).value_or(0)});
  }
  return found;
}

std::string to_text(std::span<const Interface> interfaces) {
  std::string text;
  for (const Interface& i : interfaces) {
    text +=
        fmt::format("{}{}={}/{}:{}:{}", text.empty() ? "" : " ", i.name, i.address, i.prefix, i.mbit, i.mtu);
  }
  return text;
}

std::vector<Interface> interfaces_from_text(std::string_view text) {
  std::vector<Interface> found;
  for (const std::string& word : split(text, ' ')) {
    const auto equals = word.find('=');
    const auto parts =
        split(std::string_view(word).substr(equals == std::string::npos ? word.size() : equals + 1), ':');
    if (parts.size() != 3) continue;
    const auto slash = parts[0].find('/');
    found.push_back({word.substr(0, equals), parts[0].substr(0, slash),
                     static_cast<int>(parse_int(parts[0].substr(slash + 1)).value_or(0)),
                     parse_int(parts[1]).value_or(0), parse_int(parts[2]).value_or(0)});
  }
  return found;
}

bool allows(const TcpFilter& filter, const Interface& interface) {
  if (!filter.include.empty()) return is_named(filter.include, interface);
  return !is_named(filter.exclude.empty() ? default_exclude : filter.exclude, interface);
}

TcpFilter tcp_filter() {
  return {parameter("btl_tcp_if_include"), parameter("btl_tcp_if_exclude")};
}

bool same_subnet(const Interface& a, const Interface& b) {
  return a.prefix == b.prefix && network_of(a.address, a.prefix) == network_of(b.address, b.prefix);
}

std::string human_rate(double rate) {
  const auto scaled = [](double value, const char* unit) {
    return fmt::format("{:.{}f} {}", value, value < 10 && value != static_cast<int>(value) ? 2 : 0, unit);
  };
  return rate >= 1e9 ? scaled(rate / 1e9, "Gbit/s") : scaled(rate / 1e6, "Mbit/s");
}

}  // namespace lockstep::doctor
