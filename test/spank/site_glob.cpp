// Patterns, compared with fnmatch(3) where the two mean the same.
#include <fnmatch.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <random>

#include "site/glob.h"

using namespace lockstep::spank;

TEST_CASE("patterns take what the shell's take", "[site][glob]") {
  CHECK(glob_matches("gpu-[0-9]*", "gpu-17"));
  CHECK_FALSE(glob_matches("gpu-[0-9]*", "gpu-a"));
  CHECK(glob_matches("gpu-[!0-9]*", "gpu-a"));
  CHECK(glob_matches("Virtual?Machine", "Virtual Machine"));
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("", ""));
  CHECK_FALSE(glob_matches("", "a"));
  CHECK_FALSE(glob_matches("?", ""));
  CHECK_FALSE(glob_matches("GPU*", "gpu1"));
  CHECK(glob_matches("a*b*c", "a-b-b-c"));
  CHECK_FALSE(glob_matches("a*b*c", "a-b-b-"));
  CHECK(glob_matches("[]]", "]"));
  CHECK(glob_matches("[a-]", "-"));
  CHECK(glob_matches("[", "["));
}

TEST_CASE("a pattern is whole when its sets are closed", "[site][glob]") {
  CHECK(is_glob("gpu-[0-9]*"));
  CHECK(is_glob("[]a]"));
  CHECK_FALSE(is_glob(""));
  CHECK_FALSE(is_glob("gpu-[0-9"));
  CHECK_FALSE(is_glob("[]"));
  CHECK_FALSE(is_glob("[!]"));
}

TEST_CASE("random patterns match as fnmatch says", "[site][glob]") {
  std::mt19937 random(1);
  const auto text = [&](std::string_view letters, std::size_t longest) {
    std::string result;
    for (std::size_t n = random() % (longest + 1); n > 0; --n) result += letters[random() % letters.size()];
    return result;
  };
  int matched = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string pattern = text("ab*?[]!-", 7);
    if (!is_glob(pattern)) continue;
    const std::string name = text("ab-]!", 5);
    const bool expected = ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
    CAPTURE(pattern, name);
    REQUIRE(glob_matches(pattern, name) == expected);
    matched += expected ? 1 : 0;
  }
  CHECK(matched > 5000);
}

TEST_CASE("many stars cost no more than the product of the lengths", "[site][glob]") {
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(glob_matches(pattern + "b", std::string(1000, 'a')));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
}
