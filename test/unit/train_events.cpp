#include <catch2/catch.hpp>
#include <csignal>
#include <string>

#include "core/files.h"
#include "core/text.h"
#include "temp_folder.h"
#include "train/event_log.h"
#include "train/signal_report.h"

using namespace lockstep;
using namespace lockstep::train;

TEST_CASE("an event is one row of four columns", "[train]") {
  const std::string row = event_row(7, "failed", "a, b\nc\r");
  CHECK(row.ends_with(",failed,a; b;c;"));
  CHECK(split(row, ',').size() == 4);
}

TEST_CASE("events from outside begin the file, and go to its end", "[train]") {
  const TempFolder folder;
  const auto file = folder / "events.csv";
  append_event(file, 0, "failed", "early");
  append_event(file, 3, "requeued", "job 1");
  const auto lines = split(read_text(file).value(), '\n');
  REQUIRE(lines.size() == 4);  // the last one empty
  CHECK(lines[0] == event_header);
  CHECK(lines[2].starts_with("3,"));
  append_event(folder / "absent/events.csv", 0, "failed", "");  // no run: no file, no error
  CHECK_FALSE(std::filesystem::exists(folder / "absent"));
}

TEST_CASE("a resumed run says how long it has waited", "[train]") {
  const std::string header = "step,time,event,detail\n";
  const std::string started = header + "0,100.000,started,4 ranks\n";
  CHECK(waiting_text("", 150).empty());
  CHECK(waiting_text(header, 150).empty());
  CHECK(waiting_text(started, 150) == "; the attempt before left no word");
  const std::string stopped =
      started + "4,120.000,saved,x\n4,121.500,stopped,signal TERM\n4,122.000,requeued,job 1\n";
  CHECK(waiting_text(stopped, 150) == "; 28.5 s after it stopped");
  CHECK(waiting_text(stopped + "4,130.000,resumed,2 ranks\n", 150) == "; the attempt before left no word");
  CHECK(waiting_text(stopped + "4,130.000,resumed,2 ranks\n5,140.000,failed,exit code 76\n", 150) ==
        "; 10.0 s after it failed");
}

TEST_CASE("each signal is told with its ranks, and with the time that is left where it is known", "[train]") {
  CHECK(signal_lines({{0, "n0"}, {0, "n1"}}, 12).empty());
  const auto lines = signal_lines({{SIGTERM, "n0"}, {0, "n1"}, {SIGTERM, "n2"}, {SIGUSR1, "n3"}}, 118.4);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] + lines[1] ==
        "USR1 to rank 3 on n3; 118 s leftTERM to rank 0 on n0; rank 2 on n2; 118 s left");
  CHECK(signal_lines({{SIGTERM, "n0"}}, std::nullopt) == std::vector<std::string>{"TERM to rank 0 on n0"});
  const auto many = signal_lines(std::vector<ReceivedSignal>(20, {SIGTERM, "n"}), std::nullopt);
  REQUIRE(many.size() == 1);
  CHECK(many[0].ends_with("rank 15 on n; and 4 others"));
}
