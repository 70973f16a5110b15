#include <catch2/catch.hpp>

#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "doctor/file_system.h"
#include "doctor/machine.h"
#include "doctor/network.h"
#include "doctor/patience.h"
#include "doctor/tcp.h"
#include "temp_folder.h"

using namespace lockstep;
using namespace lockstep::doctor;

TEST_CASE("machine: lists of cores") {
  CHECK(to_list({}).empty());
  CHECK(to_list({3}) == "3");
  CHECK(to_list({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
  CHECK(from_list("0-2,5,7-8") == std::set<int>{0, 1, 2, 5, 7, 8});
  CHECK(from_list("").empty());
  CHECK_FALSE(own_cores().empty());
  CHECK(machine_memory().total > machine_memory().available / 2);
}

TEST_CASE("network: interfaces as text, and which MPI may take") {
  const std::string text = "eth0=10.1.2.3/24:1000:1500 ib0=10.78.0.3/16:0:4092";
  const auto found = interfaces_from_text(text);
  REQUIRE(found.size() == 2);
  CHECK(found[1].name == "ib0");
  CHECK(found[1].address == "10.78.0.3");
  CHECK(found[1].prefix == 16);
  CHECK(found[0].mbit == 1000);
  CHECK(found[1].mtu == 4092);
  CHECK(to_text(found) == text);
  CHECK(interfaces_from_text("").empty());
  CHECK(interfaces_from_text("nonsense x=1").empty());

  CHECK(allows({"", ""}, found[0]));
  CHECK_FALSE(allows({"", ""}, {"lo", "127.0.0.1", 8, 0, 0}));
  CHECK_FALSE(allows({"ib0", ""}, found[0]));
  CHECK(allows({"ib0,10.1.0.0/16", ""}, found[0]));
  CHECK_FALSE(allows({"", "lo,10.1.2.0/24"}, found[0]));
  CHECK(allows({"", "lo,10.1.3.0/24"}, found[0]));
  CHECK(same_subnet(found[1], {"ib1", "10.78.200.1", 16, 0, 0}));
  CHECK_FALSE(same_subnet(found[1], {"ib1", "10.79.0.3", 16, 0, 0}));
  CHECK(human_rate(1e9) == "1 Gbit/s");
  CHECK(human_rate(2.5e9) == "2.50 Gbit/s");
  CHECK(human_rate(100e6) == "100 Mbit/s");
}

TEST_CASE("file system: the mount that a folder lies on") {
  const std::string mounts =
      "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
      "30 22 0:25 / /data rw,relatime - nfs4 server:/export rw\n"
      "31 30 0:26 / /data/fast rw - lustre mgs@tcp:/fs rw,flock\n";
  CHECK(mount_of("/data/fast/run", mounts).type == "lustre");
  CHECK(mount_of("/data/faster", mounts).source == "server:/export");
  CHECK(mount_of("/data", mounts).type == "nfs4");
  CHECK(mount_of("/database", mounts).type == "ext4");
  CHECK(mount_of("/", mounts).point == "/");
  CHECK(mount_of("/data", "").type.empty());
}

TEST_CASE("file system: rates, and the folder above one that is not there") {
  const TempFolder folder;
  CHECK(existing_folder(folder.path() / "a" / "b") == folder.path());
  CHECK(existing_folder(folder.path()) == folder.path());
  const auto file = folder.path() / "file";
  const Transfer written = write_file(file, 3 << 20, 60);
  CHECK(written.bytes == 3 << 20);
  CHECK(read_file(file).bytes == written.bytes);
  CHECK(write_file(file, 1 << 30, 0).bytes == 1 << 20);
  CHECK(slowest_sync(folder.path() / "sync") >= 0);
  CHECK(flock_problem(folder.path() / "lock").empty());
  CHECK_THROWS_AS(write_file(folder.path() / "no" / "file", 1, 1), Error);
  CHECK_THROWS_AS(read_file(folder.path() / "none"), Error);
  CHECK(free_bytes(folder.path()) > 0);
}

TEST_CASE("TCP: both directions at once, and a peer that does not come") {
  const Listener listener = listen_tcp();
  const double deadline = monotonic_seconds() + 30;
  const std::vector<std::string> addresses = {"127.0.0.1"};
  auto other = std::async(std::launch::async,
                          [&] { return duplex_rate(connect_tcp(addresses, listener.port, deadline), 0.2); });
  CHECK(duplex_rate(accept_tcp(listener, deadline), 0.2) > 1e5);
  CHECK(other.get() > 1e5);
  CHECK_THROWS_WITH(accept_tcp(listener, monotonic_seconds()), Catch::Contains("nobody came to port"));
  CHECK_THROWS_WITH(connect_tcp(addresses, 1, deadline), Catch::Contains("127.0.0.1: Connection refused"));
}

TEST_CASE("patience: what answers, what fails, what never comes back") {
  Patience patience(30);
  CHECK(patience.run("it", [] { return Facts{{"a", "1"}}; }) == Facts{{"a", "1"}});
  CHECK_THROWS_WITH(patience.run("it", []() -> Facts { throw Error(ExitCode::bad_data, "broken"); }),
                    "broken");
  CHECK_FALSE(patience.lost());

  Patience hasty(0.01);
  const auto never = std::make_shared<std::promise<void>>();
  CHECK_THROWS_WITH(hasty.run("the disk",
                              [never] {
                                never->get_future().wait();
                                return Facts{};
                              }),
                    Catch::Contains("the disk: no answer within"));
  CHECK(hasty.lost());
  CHECK_THROWS_WITH(hasty.run("the next", [] { return Facts{}; }), "the next: not tried after \"the disk\"");
  never->set_value();
}
