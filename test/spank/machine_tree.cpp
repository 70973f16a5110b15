// Captured trees come from anywhere: nothing in one may lead out of it, block, or be read without end.
#include "machine/tree.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <thread>
#include <utility>

#include "../unit/temp_folder.h"
#include "fake_node.h"

using namespace lockstep::spank;
namespace fs = std::filesystem;

namespace {

MachineSource source_of(const fs::path& root) {
  MachineSource source;
  source.root = root;
  source.limit = source.wall_limit = std::chrono::minutes(1);
  return source;
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("links within a captured tree are followed, also over several steps", "[machine]") {
  const TempFolder root;
  write(root / "devices/a/speed", " 25000 \n");
  fs::create_directory(root / "class");
  fs::create_symlink("../devices/a", root / "class/eth0");
  fs::create_symlink("class", root / "other");
  const MachineSource source = source_of(root.path());
  Tree tree(source);
  CHECK(tree.text("class/eth0/speed") == "25000");
  CHECK(tree.number("other/eth0/speed") == 25000);
  CHECK(tree.follow("class/eth0") == "devices/a");
  CHECK(tree.follow("devices/a") == "devices/a");
  CHECK(tree.names("other/eth0") == std::vector<std::string>{"speed"});
  CHECK(tree.has_folder("class/eth0"));
  CHECK_FALSE(tree.has_folder("class/eth0/speed"));
}

TEST_CASE("no link leads out of a captured tree", "[machine]") {
  const TempFolder folder;
  write(folder / "secret/file", "secret");
  const fs::path root = folder / "root";
  write(root / "inside/file", "inside");
  fs::create_symlink(folder / "secret", root / "absolute");
  fs::create_symlink("../secret", root / "above");
  fs::create_symlink("inside/../../secret", root / "roundabout");
  fs::create_symlink("inside/../..", root / "parent");
  fs::create_symlink(folder / "secret/file", root / "inside/link");
  fs::create_symlink("parent/secret", root / "through");
  const MachineSource source = source_of(root);
  Tree tree(source);
  for (const std::string name :
       {"absolute", "above", "roundabout", "parent/secret", "through", "../secret"}) {
    INFO(name);
    CHECK_FALSE(tree.text(name + "/file"));
    CHECK(tree.names(name).empty());
    CHECK_FALSE(tree.has_folder(name));
  }
  CHECK_FALSE(tree.text("inside/link"));
  CHECK(tree.follow("absolute") == "absolute");
  CHECK(tree.follow("above") == "above");
  CHECK(tree.text("inside/file") == "inside");
}

TEST_CASE("links that go round in circles end nowhere", "[machine]") {
  const TempFolder root;
  fs::create_symlink("b", root / "a");
  fs::create_symlink("a", root / "b");
  fs::create_symlink("c/c", root / "c");
  const MachineSource source = source_of(root.path());
  Tree tree(source);
  CHECK_FALSE(tree.text("a/file"));
  CHECK_FALSE(tree.text("c/file"));
  CHECK(tree.names("a").empty());
}

TEST_CASE("a pipe or a folder in the place of a file is no file", "[machine]") {
  const TempFolder root;
  REQUIRE(::mkfifo((root / "pipe").c_str(), 0600) == 0);
  fs::create_directory(root / "folder");
  const MachineSource source = source_of(root.path());
  Tree tree(source);
  CHECK_FALSE(tree.text("pipe"));
  CHECK_FALSE(tree.text("folder"));
  CHECK(tree.complete());
}

TEST_CASE("text is cut at the limit and has no control characters", "[machine]") {
  const TempFolder root;
  write(root / "long", std::string(10000, 'x'));
  write(root / "odd", "a\x1b[31m\tb\xc2\x9b\n");
  write(root / "folder/a,b", "");
  write(root / "folder/c\x1b", "");
  write(root / "folder/d", "");
  const MachineSource source = source_of(root.path());
  Tree tree(source);
  CHECK(tree.text("long")->size() == 4096);
  CHECK(tree.text("long", 10)->size() == 10);
  CHECK(tree.text("odd") == "a?[31m\tb??");
  CHECK_FALSE(tree.number("odd"));
  CHECK(tree.names("folder") == std::vector<std::string>{"d"});
}

TEST_CASE("when the time is up nothing is read any more, and it is told", "[machine]") {
  const TempFolder root;
  write(root / "file", "text");
  MachineSource source = source_of(root.path());
  source.limit = std::chrono::milliseconds(0);
  Tree tree(source);
  CHECK_FALSE(tree.text("file"));
  CHECK(tree.names("").empty());
  CHECK_FALSE(tree.complete());
  CHECK_FALSE(read_machine(source).complete);
}

TEST_CASE("the limit is CPU time of the reader; waiting counts only by the longer one", "[machine]") {
  using std::chrono::milliseconds;
  const TempFolder root;
  write(root / "file", "text");
  MachineSource source;
  source.root = root.path();
  std::chrono::nanoseconds cpu{};
  std::chrono::nanoseconds wall{};
  source.cpu_clock = [&] { return cpu; };
  source.wall_clock = [&] { return wall; };
  const auto text_after = [&](milliseconds cpu_time, milliseconds wall_time) {
    cpu = wall = std::chrono::hours(5);
    Tree tree(source);
    CHECK(tree.text("file") == "text");
    cpu += cpu_time;
    wall += wall_time;
    const auto text = tree.text("file");
    CHECK(tree.complete() == text.has_value());
    return text.value_or("");
  };
  CHECK(text_after(milliseconds(99), milliseconds(99)) == "text");
  CHECK(text_after(milliseconds(1), milliseconds(1999)) == "text");
  CHECK(text_after(milliseconds(100), milliseconds(100)).empty());
  CHECK(text_after(milliseconds(1), milliseconds(2000)).empty());
}

TEST_CASE("a node whose files answer slowly is read whole, and one that costs too much is not", "[machine]") {
  const TempFolder root;
  write_fake_node("nic eth0 pci=0000:01:00.0 speed=1000 address=10.0.0.1\n", root.path());
  MachineSource source;
  source.root = root.path();
  std::chrono::nanoseconds time{};
  std::string last;
  int files = 0;
  source.cpu_clock = [] { return std::chrono::nanoseconds(0); };
  source.wall_clock = [&] { return time; };
  source.observe = [&](const Reading& reading) {
    last = reading.path;
    ++files;
    time += std::chrono::milliseconds(20);
  };
  CHECK(read_machine(source).complete);
  CHECK(time > std::chrono::milliseconds(100));
  CHECK(last == "sys/devices/pci0000:01/0000:01:00.0/net/eth0/speed");
  source.cpu_clock = [&] { return time; };
  const int whole = std::exchange(files, 0);
  CHECK_FALSE(read_machine(source).complete);
  CHECK(files == 5);
  CHECK(whole > 5);
}

TEST_CASE("the clocks are those of the thread and of the wall", "[machine]") {
  const auto cpu = thread_cpu_time();
  const auto wall = wall_time();
  // Whoever sleeps takes none of the CPU's time.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(wall_time() - wall >= std::chrono::milliseconds(50));
  CHECK(thread_cpu_time() - cpu < std::chrono::milliseconds(40));
  const auto busy = thread_cpu_time();
  std::thread([&] {
    while (thread_cpu_time() < std::chrono::milliseconds(30)) continue;
  }).join();
  CHECK(thread_cpu_time() - busy < std::chrono::milliseconds(25));
}

TEST_CASE("what was read is told, links and folders too", "[machine]") {
  const TempFolder root;
  write(root / "devices/a/speed", "1\n");
  fs::create_symlink("devices/a", root / "link");
  MachineSource source = source_of(root.path());
  std::vector<std::string> told;
  source.observe = [&](const Reading& reading) {
    told.push_back(std::to_string(static_cast<int>(reading.kind)) + " " + reading.path + " " + reading.text);
  };
  Tree tree(source);
  tree.text(tree.follow("link") + "/speed");
  tree.text("devices/none");
  tree.has_folder("devices/a");
  CHECK(told == std::vector<std::string>{"1 link devices/a", "0 devices/a/speed 1\n", "2 devices/a "});
}
