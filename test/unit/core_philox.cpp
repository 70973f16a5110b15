#include "core/philox.h"

#include <catch2/catch.hpp>
#include <vector>

using lockstep::philox;
using lockstep::PhiloxBlock;
using lockstep::PhiloxStream;
using lockstep::Purpose;

// Known answers that the authors of Random123 publish for philox4x32-10.
TEST_CASE("philox gives the published values", "[core]") {
  CHECK(philox(0, {0, 0, 0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("streams of different purpose, index or seed differ", "[core]") {
  const auto first = [](PhiloxStream stream) { return stream.next(); };
  const auto base = first(PhiloxStream(1, Purpose::init, 5));
  CHECK(base == first(PhiloxStream(1, Purpose::init, 5)));
  CHECK(base != first(PhiloxStream(2, Purpose::init, 5)));
  CHECK(base != first(PhiloxStream(1, Purpose::dropout, 5)));
  CHECK(base != first(PhiloxStream(1, Purpose::init, 6)));
  CHECK(base != first(PhiloxStream(1, Purpose::init, 5, 1)));
}

TEST_CASE("below covers its range evenly", "[core]") {
  PhiloxStream stream(7, Purpose::shard_shuffle, 0);
  std::vector<int> counts(10);
  for (int i = 0; i < 10000; ++i) ++counts[stream.below(10)];
  for (const int count : counts) CHECK((count > 850 && count < 1150));
  CHECK(stream.below(1) == 0);
}
