#include <catch2/catch.hpp>
#include <limits>

#include "core/json.h"

using lockstep::json_number;
using lockstep::json_text;

TEST_CASE("JSON strings escape what must not stand in them", "[core]") {
  CHECK(json_text("") == R"("")");
  CHECK(json_text("a\"b\\c\n\x01") == R"("a\"b\\c\u000a\u0001")");
  CHECK(json_text("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") == "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

TEST_CASE("bytes that are not UTF-8 become the replacement character", "[core]") {
  CHECK(json_text("\xff") == R"("\ufffd")");
  CHECK(json_text("a\xc3") == R"("a\ufffd")");                    // cut off
  CHECK(json_text("\xc0\xaf") == R"("\ufffd\ufffd")");            // overlong
  CHECK(json_text("\xed\xa0\x80") == R"("\ufffd\ufffd\ufffd")");  // half of a surrogate pair
}

TEST_CASE("JSON numbers read back exactly, and are null where there is none", "[core]") {
  CHECK(json_number(0.1) == "0.1");
  CHECK(json_number(-2) == "-2");
  CHECK(json_number(std::numeric_limits<double>::quiet_NaN()) == "null");
  CHECK(json_number(std::numeric_limits<double>::infinity()) == "null");
}
