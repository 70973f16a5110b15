#include "train/curves.h"

#include <catch2/catch.hpp>
#include <string>

#include "train/plot_script.h"

using namespace lockstep::train;

namespace {

const std::string metrics =
    "step,epoch,samples,loss,accuracy,learning_rate,gradient_norm\n"
    "1,0,10,2.5,,0.1,1\n2,0,20,,,0.1,\n3,0,25,nan,,0.1,1\n4,0,35,1.5,,0.1,1\n5,0,45,1.2,0";  // still being
                                                                                             // written

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("a column leaves out what is no number and a line that is not whole", "[train]") {
  const Series loss = column(metrics, "loss");
  REQUIRE(loss.size() == 2);
  CHECK((loss[1].step == 4 && loss[1].value == 1.5));
  CHECK(column(metrics, "accuracy").empty());
  CHECK(column(metrics, "no such column").empty());
  CHECK(column("", "loss").empty());
  CHECK(column(metrics, "samples").size() == 4);
}

TEST_CASE("throughput counts the samples of each step that has a time", "[train]") {
  const Series rate = throughput(metrics, "step,seconds\n1,2\n3,0.5\n4,0\n9,1\n");
  REQUIRE(rate.size() == 2);
  CHECK((rate[0].step == 1 && rate[0].value == 5));
  CHECK((rate[1].step == 3 && rate[1].value == 10));
  // Step 2 was lost with its row: what 3 had is not known.
  CHECK(throughput("step,samples\n1,10\n3,30\n4,40\n", "step,seconds\n3,1\n4,1\n").size() == 1);
}

TEST_CASE("no line goes over steps that were passed over or lost", "[train]") {
  // 3 and 4 were rolled back, 5 was skipped as not finite, 8 and 9 were lost with their rows.
  const std::string gaps =
      "step,epoch,samples,loss,accuracy,learning_rate,gradient_norm\n"
      "1,0,10,2,,0.1,1\n2,0,20,2,,0.1,1\n3,0,30,,,0.1,\n4,0,40,,,0.1,\n5,0,50,nan,,0.1,nan\n6,0,60,1,,0.1,1\n"
      "7,0,70,1,,0.1,1\n10,0,80,1,,0.1,1\n";
  const std::vector<double> missing = missing_steps(gaps);
  CHECK(missing == std::vector<double>{3, 4, 8});
  const auto loss = pieces(column(gaps, "loss"), missing);
  REQUIRE(loss.size() == 3);
  CHECK(loss[0].back().step == 2);
  CHECK(loss[1].front().step == 6);
  CHECK(loss[2].front().step == 10);
  // Steps that were passed over have their rate.
  CHECK(pieces(column(gaps, "learning_rate"), missing).size() == 2);
  // Between two evaluations, too.
  CHECK(pieces({{2, 1}, {6, 1}, {7, 1}}, missing).size() == 2);
  CHECK(pieces({}, missing).empty());
  CHECK(pieces({{1, 2}, {9, 2}}, {}).size() == 1);
  CHECK(missing_steps("").empty());

  const std::string script = plot_script(
      {"run", "loss", {{"loss", column(gaps, "loss"), Curve::Style::strong}}, false, missing}, {}, 10, "x");
  CHECK(script.find("<< END\n1 2\n2 2\n\n6 1\n7 1\n\n10 1\nEND\n") != std::string::npos);
}

TEST_CASE("thinning keeps the mean, smoothing the number of points", "[train]") {
  Series series;
  for (int i = 0; i < 1000; ++i) series.push_back({double(i), i % 2 == 0 ? 1.0 : 3.0});
  const Series thin = thinned(series, 100);
  REQUIRE(thin.size() == 100);
  CHECK((thin[0].step == 4.5 && thin[0].value == 2));
  CHECK(thinned(series, 1000).size() == 1000);
  const Series smooth = smoothed(series);
  REQUIRE(smooth.size() == 1000);
  CHECK(smooth[500].value == Approx(2).margin(0.1));
  CHECK(smooth[0].value == 1);  // the ends have no neighbours to be mixed with
  CHECK(smoothed({{1, 5}}).size() == 1);
  CHECK(smoothed({}).empty());
}

TEST_CASE("a smoothed throughput is samples by seconds, not the mean of what steps made of it", "[train]") {
  Series rate;
  for (int i = 0; i < 400; ++i) rate.push_back({double(i), i % 2 == 0 ? 1.0 : 9.0});
  // Two steps of the same samples, nine seconds and one: 2 / (1 + 1/9).
  CHECK(smoothed_rate(rate)[200].value == Approx(1.8).epsilon(0.2));
}

TEST_CASE("attempts are cut where a later one went on", "[train]") {
  const std::string events =
      "step,time,event,detail\n0,100,started,4 ranks; job 1\n40,160,stopped,signal TERM on 1 of 4 ranks\n"
      "40,161,requeued,job 1\n40,200,resumed,2 ranks; job 1\n60,230,failed,exit code 76; no progress\n"
      "50,250,resumed,1 ranks; job 1\n50,260,resumed,3 ranks; job 1\n";
  const Attempts attempts = attempts_of(events, 80);
  REQUIRE(attempts.stretches.size() == 3);
  CHECK((attempts.stretches[0].to == 40 && attempts.stretches[0].ranks == "4 ranks"));
  CHECK((attempts.stretches[1].to == 50 && attempts.stretches[1].ranks == "2 ranks"));
  CHECK((attempts.stretches[2].to == 80 && attempts.stretches[2].ranks == "3 ranks"));
  REQUIRE(attempts.restarts.size() == 2);
  CHECK(attempts.restarts[0].ending == "stopped (signal TERM)");
  CHECK(attempts.restarts[0].going_on == "went on 40s later");
  CHECK(attempts.restarts[1].ending == "failed (exit code 76)");
  CHECK(attempts_of("", 80).stretches.empty());
  // A finished run that is started again has done nothing new.
  CHECK(
      attempts_of("s\n0,1,started,1 ranks\n80,2,finished,all\n80,3,resumed,1 ranks\n", 80).restarts.empty());
}

TEST_CASE("a script quotes every text that it is given", "[train]") {
  const std::string evil = "a'b`touch x`\n\"";
  const std::string script = plot_script({evil, evil, {{evil, {{1, 2}}, Curve::Style::strong}}},
                                         {{{0, 80, evil}}, {{40, evil, evil}}}, 80, evil);
  const std::string quoted = "'a''b`touch x` \"'";
  CHECK(count(script, quoted) == 6);     // file, title, axis, stretch, second line of the restart, curve
  CHECK(count(script, "touch x") == 7);  // and within "step 40: ..."
  CHECK(script.find("'step 40: a''b`touch x` \"'") != std::string::npos);
}

TEST_CASE("many restarts are marked without labels that would hide the curves", "[train]") {
  Attempts attempts;
  for (int i = 1; i < 20; ++i) attempts.restarts.push_back({i, "stopped", "went on"});
  const std::string script =
      plot_script({"run", "loss", {{"loss", {{1, 2}}, Curve::Style::strong}}}, attempts, 20, "x");
  CHECK(count(script, "set arrow") == 19);
  CHECK(count(script, "set label") == 0);
  CHECK(script.find("'run (19 restarts)'") != std::string::npos);
}
