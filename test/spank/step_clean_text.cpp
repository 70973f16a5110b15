// What a terminal or a log gets to see of foreign text.
#include "step/clean_text.h"

#include <catch2/catch.hpp>

using namespace lockstep::spank;

TEST_CASE("no byte but printable ASCII is left", "[step]") {
  CHECK(clean_text("NCCL_IB_HCA==mlx5_0:1 ~") == "NCCL_IB_HCA==mlx5_0:1 ~");
  CHECK(clean_text("\x1b[31mred\x07\r\n\t") == "?[31mred????");
  CHECK(clean_text("\xc2\x9b"
                   "31m") == "??31m");  // U+009B, as good as ESC [
  CHECK(clean_text("abc\xe2\x80\xae"
                   "def") == "abc???def");  // U+202E, right to left
  CHECK(clean_text(std::string_view("\0\x7f\x80\xff", 4)) == "????");
  for (int byte = 0; byte < 256; ++byte) {
    CHECK(is_printable(clean_text(std::string(1, static_cast<char>(byte)))));
  }
  CHECK_FALSE(is_printable("\xc3\xa9"));
}

TEST_CASE("long text is cut to the limit, dots included", "[step]") {
  CHECK(clean_text("abcdef", 6) == "abcdef");
  CHECK(clean_text("abcdefg", 6) == "abc...");
  CHECK(clean_text("abcdefg", 3) == "...");
  CHECK(clean_text("").empty());
}
