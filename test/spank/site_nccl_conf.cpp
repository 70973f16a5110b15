// NCCL's files as NCCL takes them. The expectations follow its reader (src/misc/param.cc of 2.30), not good
// sense.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "../unit/temp_folder.h"
#include "site/nccl_conf.h"

using namespace lockstep::spank;

namespace {

// "[name]=[value]@line" for each entry.
std::string entries_of(std::string_view text) {
  std::string result;
  for (const auto& entry : parse_nccl_conf(text, "nccl.conf").entries) {
    result += "[" + entry.variable + "]=[" + entry.value + "]@" + std::to_string(entry.line) + " ";
  }
  return result;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("a line of an nccl.conf is split at the first equals sign and kept as it is", "[site][nccl-conf]") {
  CHECK(entries_of("NCCL_DEBUG=WARN\n") == "[NCCL_DEBUG]=[WARN]@1 ");
  CHECK(entries_of("NCCL_SOCKET_IFNAME==ens1f0") == "[NCCL_SOCKET_IFNAME]=[=ens1f0]@1 ");
  CHECK(entries_of("A = b \n") == "[A ]=[ b ]@1 ");
  CHECK(entries_of(" A=b\n") == "[ A]=[b]@1 ");
  CHECK(entries_of("A=\n") == "[A]=[]@1 ");
  CHECK(entries_of("A=b # no comment\n") == "[A]=[b # no comment]@1 ");
}

TEST_CASE("comments of an nccl.conf begin in the first column", "[site][nccl-conf]") {
  CHECK(entries_of("#A=b\n\nC=d\n") == "[C]=[d]@3 ");
  CHECK(entries_of(" #A=b\n") == "[ #A]=[b]@1 ");
}

TEST_CASE("what sets nothing for NCCL is no entry", "[site][nccl-conf]") {
  CHECK(entries_of("").empty());
  CHECK(entries_of("NCCL_DEBUG\n").empty());
  CHECK(entries_of("=b\n").empty());
  CHECK(entries_of(std::string_view("\0A=b\n", 5)).empty());
  CHECK(entries_of(std::string_view("A=b\0c\nD=e", 9)) == "[A]=[b]@1 [D]=[e]@2 ");
}

TEST_CASE("one carriage return before the line feed goes, and is told of", "[site][nccl-conf]") {
  CHECK(entries_of("A=b\r\nC=d\r\r\n") == "[A]=[b]@1 [C]=[d\r]@2 ");
  CHECK(parse_nccl_conf("A=b\nC=d\r\nE=f\r\n", "").carriage_return_line == 2);
  CHECK(parse_nccl_conf("A=b\n", "").carriage_return_line == 0);
}

TEST_CASE("names and values are cut at 1023 bytes, lines go on after 4095", "[site][nccl-conf]") {
  const auto conf = parse_nccl_conf(std::string(2000, 'A') + "=" + std::string(2000, 'b'), "");
  REQUIRE(conf.entries.size() == 1);
  CHECK(conf.entries[0].variable == std::string(1023, 'A'));
  CHECK(conf.entries[0].value == std::string(1023, 'b'));

  CHECK(parse_nccl_conf(std::string(4090, 'A') + "=bcdeC=f\nD=g", "").entries.size() == 3);
  CHECK(entries_of("A=" + std::string(4093, 'b') + "C=f\nD=g").ends_with("[C]=[f]@1 [D]=[g]@2 "));
  CHECK(entries_of("#" + std::string(4094, 'b') + "C=f\nD=g") == "[C]=[f]@1 [D]=[g]@2 ");
}

TEST_CASE("the first of a variable counts", "[site][nccl-conf]") {
  const auto conf = parse_nccl_conf("A=b\nC=d\nA=e\n", "");
  REQUIRE(conf.find("A") != nullptr);
  CHECK(conf.find("A")->value == "b");
  CHECK(conf.find("B") == nullptr);
}

TEST_CASE("a file of nothing but entries is read up to a bound", "[site][nccl-conf]") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "A=b\n";
  CHECK(parse_nccl_conf(text, "").entries.size() == 1000);
}

TEST_CASE("only plain files of bounded size are read, and nothing is waited for", "[site][nccl-conf]") {
  const TempFolder folder;
  CHECK_FALSE(read_nccl_conf(folder / "missing"));
  CHECK_FALSE(read_nccl_conf(folder / "missing" / "below"));
  write(folder / "good", "NCCL_DEBUG=INFO\n");
  std::filesystem::create_symlink(folder / "good", folder / "link");
  const auto conf = read_nccl_conf(folder / "link");
  REQUIRE(conf);
  CHECK(conf->file == (folder / "link").string());
  CHECK(conf->find("NCCL_DEBUG")->value == "INFO");
  CHECK(conf->obstacle == Obstacle::none);
  write(folder / "just", std::string(1 << 20, 'A'));
  CHECK(read_nccl_conf(folder / "just")->obstacle == Obstacle::none);
  // How one switches the other file off.
  CHECK(read_nccl_conf("/dev/null")->obstacle == Obstacle::none);
}

TEST_CASE("of a file that cannot be read it is told why", "[site][nccl-conf]") {
  const TempFolder folder;
  const auto told = [](const std::filesystem::path& path, Obstacle obstacle) {
    const auto conf = read_nccl_conf(path);
    REQUIRE(conf);
    CHECK(conf->obstacle == obstacle);
    CHECK(conf->entries.empty());
    CHECK(conf->file == path.string());
    return conf->problem;
  };
  CHECK(told(folder.path(), Obstacle::unreadable) == "is a folder");
  CHECK(told("/dev/zero", Obstacle::stream) == "is no plain file");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(told(folder / "pipe", Obstacle::stream) == "is a pipe");
  write(folder / "large", std::string((1 << 20) + 1, 'A'));
  CHECK(told(folder / "large", Obstacle::too_large) == "is larger than 1048576 bytes");
  std::filesystem::create_symlink("loop", folder / "loop");
  CHECK(told(folder / "loop", Obstacle::unreadable).starts_with("cannot be opened: "));
}
