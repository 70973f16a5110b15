#include "core/utf8.h"

#include <catch2/catch.hpp>

using lockstep::is_utf8;
using lockstep::shown;

TEST_CASE("what is UTF-8", "[core]") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
  CHECK_FALSE(is_utf8("caf\xe9"));  // Latin-1
  CHECK_FALSE(
      is_utf8("\xff\xfe"
              "a"));                         // UTF-16
  CHECK_FALSE(is_utf8("a\xc3"));             // cut off
  CHECK_FALSE(is_utf8("\xc0\xaf"));          // overlong
  CHECK_FALSE(is_utf8("\xf4\x90\x80\x80"));  // beyond U+10FFFF
}

TEST_CASE("what is shown is one line of UTF-8, never half a character", "[core]") {
  CHECK(shown("plain") == "plain");
  CHECK(shown("caf\xe9 a\nb\x7f") == "caf\xef\xbf\xbd a b ");
  const std::string sixty(60, 'x');
  CHECK(shown(sixty) == sixty);
  CHECK(shown(sixty + "y") == sixty + "...");
  CHECK(shown(std::string(59, 'x') + "\xc3\xa9") == std::string(59, 'x') + "...");
}
