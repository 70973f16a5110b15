#include "machine/node_facts.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace lockstep::spank;

TEST_CASE("addresses are told apart from link-local ones", "[machine]") {
  CHECK_FALSE(parse_address("10.0.0.4")->link_local);
  CHECK(parse_address("169.254.3.1")->link_local);
  CHECK_FALSE(parse_address("169.255.0.1")->link_local);
  CHECK(parse_address("fe80::1")->link_local);
  CHECK(parse_address("febf::1")->link_local);
  CHECK_FALSE(parse_address("fec0::1")->link_local);
  CHECK_FALSE(parse_address("fd93:16::3:f")->link_local);
  CHECK(parse_address("fe80::1")->ipv6);
  CHECK_FALSE(parse_address("10.0.0"));
  CHECK_FALSE(parse_address("n1"));
}

TEST_CASE("a node's facts survive writing and reading", "[machine]") {
  NodeFacts facts;
  facts.node = "gpu-1";
  facts.addresses = {{"eth0", *parse_address("10.0.0.4")}, {"eth0", *parse_address("fe80::1")}};
  facts.shm_bytes = 68719476736;
  facts.memlock_bytes = std::numeric_limits<std::uint64_t>::max();
  const std::string text = write_node_facts(facts);
  CHECK(text ==
        "node gpu-1\naddress eth0 10.0.0.4\naddress eth0 fe80::1\nshm 68719476736\nmemlock unlimited\n");
  const NodeFacts again = parse_node_facts(text);
  CHECK(write_node_facts(again) == text);
  CHECK(again.addresses.at(1).second.link_local);
}

TEST_CASE("lines that are no facts are passed over", "[machine]") {
  const NodeFacts facts = parse_node_facts(
      "# comment\n\naddress eth0 nowhere\naddress eth0\nshm -5\nmemlock 65536 \nshm 1 2\nodd\n");
  CHECK(facts.addresses.empty());
  CHECK(facts.shm_bytes == 0);
  CHECK(facts.memlock_bytes == 65536);
}

TEST_CASE("this machine's own facts are found", "[machine]") {
  const NodeFacts facts = live_node_facts();
  CHECK(facts.memlock_bytes > 0);
  bool loopback = false;
  for (const auto& [name, address] : facts.addresses) loopback = loopback || address.text == "127.0.0.1";
  CHECK(loopback);
}
