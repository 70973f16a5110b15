// The interfaces of a node, and which of them MPI's messages over TCP may take.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::doctor {

struct Interface {
  std::string name;
  std::string address;    // IPv4: "10.77.0.1"
  int prefix = 0;         // bits of the network
  std::int64_t mbit = 0;  // what it claims; 0: it does not tell
  std::int64_t mtu = 0;   // bytes
};

// Those that are up and have an IPv4 address, without the loopback.
std::vector<Interface> interfaces();

// "eth0=10.77.0.1/24:1000:1500", with blanks between several.
std::string to_text(std::span<const Interface> interfaces);
std::vector<Interface> interfaces_from_text(std::string_view text);

// OMPI_MCA_btl_tcp_if_include and _exclude: names and networks, with commas. An empty exclude is Open MPI's
// own.
struct TcpFilter {
  std::string include;
  std::string exclude;
};
bool allows(const TcpFilter& filter, const Interface& interface);

// From the environment, then the user's and the site's file of Open MPI.
TcpFilter tcp_filter();

bool same_subnet(const Interface& a, const Interface& b);

// "1 Gbit/s", "25 Gbit/s", "100 Mbit/s"; `rate` in bit/s.
std::string human_rate(double rate);

}  // namespace lockstep::doctor
