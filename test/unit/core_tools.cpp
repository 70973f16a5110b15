#include <signal.h>

#include <catch2/catch.hpp>

#include "core/files.h"
#include "core/log.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "temp_folder.h"

using namespace lockstep;
using namespace std::chrono_literals;

TEST_CASE("a text becomes one line", "[core]") {
  CHECK(one_line("a\nb\r\nc, d") == "a b  c, d");
  CHECK(one_line("a\nb, c", ';', ",") == "a;b; c");
  CHECK(one_line("").empty());
}

TEST_CASE("a rank is named once in a line", "[core]") {
  CHECK(with_rank(1, "n2", "no memory") == "rank 1 on n2: no memory");
  CHECK(with_rank(1, "n2", "rank 1 on n2 of 4: call 7") == "rank 1 on n2 of 4: call 7");
  CHECK(with_rank(1, "n2", "rank 0 on n1 gave up") == "rank 1 on n2: rank 0 on n1 gave up");
}

TEST_CASE("split keeps empty parts and gives none for an empty text", "[core]") {
  CHECK(split("", ',').empty());
  CHECK(split("a", ',') == std::vector<std::string>{"a"});
  CHECK(split("a,,b,", ',') == std::vector<std::string>{"a", "", "b", ""});
}

TEST_CASE("parse_int takes the whole text or nothing", "[core]") {
  CHECK(parse_int("-12") == -12);
  CHECK_FALSE(parse_int(""));
  CHECK_FALSE(parse_int("12a"));
  CHECK_FALSE(parse_int(" 12"));
  CHECK_FALSE(parse_int("99999999999999999999"));
}

TEST_CASE("nearest finds what was meant and leaves strangers alone", "[core]") {
  const std::vector<std::string> keys{"train.global_batch", "train.micro_batch", "optim.lr"};
  CHECK(nearest("train.globl_batch", keys) == "train.global_batch");
  CHECK(nearest("optm.lr", keys) == "optim.lr");
  CHECK_FALSE(nearest("completely.different", keys));
}

TEST_CASE("sizes and times are written for people", "[core]") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_seconds(9.4) == "9s");
  CHECK(human_seconds(65) == "1m05s");
  CHECK(human_seconds(3725) == "1h02m");
}

TEST_CASE("a file is replaced whole and leaves no temporary behind", "[core]") {
  const TempFolder folder;
  write_atomically(folder / "a", "old");
  write_atomically(folder / "a", "new");
  CHECK(read_text(folder / "a") == "new");
  CHECK_FALSE(read_text(folder / "absent"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a write that cannot be finished names the file and keeps the old one", "[core]") {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "a");
  REQUIRE_THROWS_WITH(write_atomically(folder / "a", "text"), Catch::Contains((folder / "a").string()));
  CHECK(std::filesystem::is_directory(folder / "a"));
  CHECK_THROWS_AS(write_atomically(folder / "no/such/folder/a", "text"), Error);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a command gives its output and code", "[core]") {
  const auto good = run_command({"sh", "-c", "echo out; echo err >&2"}, 10s);
  CHECK(good.ok());
  CHECK(good.output == "out\nerr\n");
  CHECK(run_command({"sh", "-c", "exit 3"}, 10s).exit_code == 3);
  CHECK(run_command({"no-such-program-here"}, 10s).exit_code == 127);
  CHECK(run_command({"sh", "-c", "kill -9 $$"}, 10s).exit_code == -1);
}

TEST_CASE("a command that does not end is ended at its limit", "[core]") {
  const auto late = run_command({"sleep", "1000"}, 200ms);
  CHECK(late.timed_out);
  CHECK_FALSE(late.ok());
}
