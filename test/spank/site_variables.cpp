// What NCCL makes of values. The numbers that it reads were tried with strtoll(text, nullptr, 0), as NCCL
// calls it.
#include "site/variables.h"

#include <catch2/catch.hpp>
#include <cstdlib>

using namespace lockstep::spank;

namespace {

std::string fault(std::string_view variable, std::string_view value) {
  return fault_of_value(variable, value).value_or("none");
}

}  // namespace

TEST_CASE("a number that NCCL would read otherwise is told with what it reads", "[site][variables]") {
  CHECK(fault("NCCL_BUFFSIZE", "8MB") == "is '8MB', which NCCL reads as 8: it takes a whole number from 0");
  CHECK(fault("NCCL_IB_TIMEOUT", "abc") == "is 'abc', which NCCL reads as 0: it takes a whole number from 0");
  CHECK(fault("NCCL_IB_TIMEOUT", "022") ==
        "is '022', which NCCL reads as 18: it takes a whole number from 0");
  CHECK(fault("NCCL_IB_TIMEOUT", "2 2") == "is '2 2', which NCCL reads as 2: it takes a whole number from 0");
  CHECK(fault("NCCL_BUFFSIZE", "99999999999999999999") ==
        "is '99999999999999999999', which is too large: it takes a whole number from 0");
  for (const char* value : {"22", "0x16", " 22", "22 ", "+22", "0", ""})
    CHECK(fault("NCCL_IB_TIMEOUT", value) == "none");
}

TEST_CASE("what NCCL reads is what strtoll reads", "[site][variables]") {
  for (const char* value : {"8MB", "abc", "022", "0x1g", "0x", "08", "-5x", "+", "-", "1e6", "--1", "0xx"}) {
    CAPTURE(value);
    const std::string read = "NCCL reads as " + std::to_string(std::strtoll(value, nullptr, 0)) + ":";
    CHECK(fault("NCCL_BUFFSIZE", value).find(read) != std::string::npos);
    CHECK(is_on(value) == (std::strtoll(value, nullptr, 0) != 0));
  }
}

TEST_CASE("numbers out of range and words of no list are told", "[site][variables]") {
  CHECK(fault("NCCL_IB_SL", "16") == "is '16', not a number from 0 to 15");
  CHECK(fault("NCCL_IB_DISABLE", "2") == "is '2', not a number from 0 to 1");
  CHECK(fault("NCCL_IB_GID_INDEX", "-1") == "none");
  CHECK(fault("NCCL_BUFFSIZE", "-1") == "is '-1', not a whole number from 0");
  CHECK(fault("NCCL_SOCKET_FAMILY", "IPv4") == "is 'IPv4', not one of AF_INET, AF_INET6");
  CHECK(fault("NCCL_SOCKET_FAMILY", "af_inet") == "is 'af_inet', not one of AF_INET, AF_INET6");
  CHECK(fault("NCCL_SOCKET_FAMILY", "AF_INET ") == "is 'AF_INET ', not one of AF_INET, AF_INET6");
  CHECK(fault("NCCL_DEBUG", "info") == "none");
  CHECK(fault("NCCL_DEBUG", "debug") == "is 'debug', not one of NONE, VERSION, WARN, INFO, ABORT, TRACE");
  CHECK(fault("NCCL_NET_GDR_LEVEL", "PHB") == "none");
  CHECK(fault("NCCL_NET_GDR_LEVEL", "5") == "none");
  CHECK(fault("NCCL_NET_GDR_LEVEL", "6").ends_with("PHB, SYS, or a number from 0 to 5"));
  CHECK(fault("NCCL_NET_GDR_LEVEL", "PHP")
            .starts_with("is 'PHP', which NCCL reads as 0: it takes one of LOC,"));
  CHECK(fault("NCCL_NO_SUCH_THING", "x") == "none");
}

TEST_CASE("a switch is on for any number but 0", "[site][variables]") {
  CHECK(is_on("1"));
  CHECK(is_on("-1"));
  CHECK_FALSE(is_on("0"));
  CHECK_FALSE(is_on(""));
  CHECK_FALSE(is_on("true"));
}
