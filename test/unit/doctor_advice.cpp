#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "doctor/advice.h"
#include "doctor/network.h"
#include "doctor/probes.h"
#include "doctor/words.h"
#include "json_check.h"

using namespace lockstep;
using namespace lockstep::doctor;

namespace {

RankFacts rank_with(int rank, const std::string& node, Facts facts) {
  return {rank, node, std::move(facts), "", ExitCode::finished};
}

bool any_has(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

// Two nodes at 1 Gbit/s, 100 MiB of gradients, 0.2 s of computation, 0.9 s of communication.
Findings slow_network() {
  Findings findings;
  for (int r = 0; r < 2; ++r) {
    const std::string node = "n" + std::to_string(r + 1);
    findings["interface"].push_back(rank_with(
        r, node,
        {{"network", node}, {"interfaces", "eth0=10.0.0." + std::to_string(r + 1) + "/24:1000:1500"}}));
    findings["model"].push_back(rank_with(r, node,
                                          {{"gradient_bytes", "104857600"},
                                           {"state_bytes", "209715200"},
                                           {"own_micro_batches", "4"},
                                           {"micro_batch_seconds", r == 0 ? "0.05" : "0.04"}}));
    findings["communication"].push_back(rank_with(r, node, {{"tcp_rate", "117500000"}}));
  }
  findings["communication"][0].facts["all_reduce.auto.000016777216"] = "0.15";
  findings["communication"][0].facts["all_reduce.auto.000104857600"] = "0.9";
  return findings;
}

Section report_of(const Probe& probe, std::vector<RankFacts> ranks) {
  Section section;
  section.name = probe.name;
  section.ranks = std::move(ranks);
  probe.report({}, section);
  return section;
}

}  // namespace

TEST_CASE("advice: a network that is too slow for the model") {
  const auto advice = advise(slow_network());
  REQUIRE(advice.size() == 1);
  CHECK(advice[0] ==
        "eth0 at 940 Mbit/s: a step of this model needs 0.9 s of communication (100.0 MiB) and 0.2 s of "
        "computation: use fewer ranks, a faster network, or a train.global_batch 4 times as large; "
        "comm.overlap "
        "hides 22 % at most");
}

TEST_CASE("advice: communication that overlap can hide, or that is no matter") {
  Findings findings = slow_network();
  for (RankFacts& rank : findings["model"]) rank.facts["micro_batch_seconds"] = "1";
  CHECK(any_has(advise(findings), "overlap can hide it"));
  for (RankFacts& rank : findings["model"]) rank.facts["micro_batch_seconds"] = "10";
  CHECK(any_has(advise(findings), "communication is no matter"));
}

TEST_CASE("advice: a sum far below TCP, a link far below its claim") {
  Findings findings = slow_network();
  findings["communication"][0].facts["all_reduce.auto.000104857600"] = "3";
  CHECK(any_has(advise(findings), "all-reduce gets 30 % of what TCP gets"));
  for (RankFacts& rank : findings["interface"]) {
    std::string& text = rank.facts["interfaces"];
    text.replace(text.find(":1000:"), 6, ":10000:");
  }
  CHECK(any_has(advise(findings), "eth0 claims 10 Gbit/s, TCP gets 940 Mbit/s"));
}

TEST_CASE("advice: of GPUs, what NCCL takes counts") {
  Findings findings = slow_network();
  findings["communication"][0].facts["sums_by"] = "nccl";
  CHECK(advise(findings).empty());  // nothing by what training does not take
  findings["communication"][0].facts["all_reduce.nccl.000104857600"] = "0.02";
  auto advice = advise(findings);
  REQUIRE(advice.size() == 1);
  CHECK(advice[0] ==
        "NCCL: a step of this model needs 0.02 s of communication (100.0 MiB) and 0.2 s of computation: "
        "communication is no matter");
  findings["communication"][0].facts["all_reduce.nccl.000104857600"] = "0.1";
  CHECK(any_has(advise(findings), "overlap can hide it (comm.overlap = on)"));
  findings["communication"][0].facts["all_reduce.nccl.000104857600"] = "3";
  CHECK(any_has(advise(findings), "NCCL gets 30 % of what TCP gets on this link: NCCL_DEBUG=INFO"));
}

TEST_CASE("advice: checkpoints that are slow, or do not fit") {
  Findings findings = slow_network();
  for (int r = 0; r < 2; ++r) {
    findings["folder"].push_back(rank_with(r, "n1", {{"write_rate", "5e6"}, {"free_bytes", "5e8"}}));
  }
  const auto advice = advise(findings);
  CHECK(any_has(advice, "a checkpoint of 200.0 MiB takes about 21s"));
  CHECK(any_has(advice, "476.8 MiB are free and a checkpoint takes 200.0 MiB"));
}

TEST_CASE("advice: nothing is said about what was not measured") {
  CHECK(advise({}).empty());
  Findings one = slow_network();
  for (auto& [name, ranks] : one) ranks.resize(1);
  one["communication"][0].facts.clear();
  CHECK(advise(one).empty());
}

TEST_CASE("advice: times between and beyond the sizes that were measured") {
  const std::vector<SumTime> times = {{1000, 1}, {2000, 3}};
  CHECK(sum_seconds(times, 10) == 1);
  CHECK(sum_seconds(times, 1500) == 2);
  CHECK(sum_seconds(times, 4000) == 6);
}

TEST_CASE("doctor: the rank that stands out is named, the others are not") {
  const Probe probe = compute_probe();
  auto ranks =
      std::vector{rank_with(0, "n1", {{"gemm_flops", "40e9"}}), rank_with(1, "n1", {{"gemm_flops", "39e9"}}),
                  rank_with(2, "n2", {{"gemm_flops", "12e9"}}), rank_with(3, "n2", {{"gemm_flops", "41e9"}})};
  CHECK(any_has(report_of(probe, ranks).warnings, "rank 2 on n2 computes at 30 % of the others' rate"));
  ranks[2].facts["gemm_flops"] = "38e9";
  CHECK(report_of(probe, ranks).warnings.empty());
  CHECK(report_of(probe, {ranks[0]}).warnings.empty());
}

TEST_CASE("doctor: the rate of products is told in the unit that suits it") {
  const Probe probe = compute_probe();
  const auto text = [&](const std::string& flops, const std::string& type) {
    const Section section =
        report_of(probe, {rank_with(0, "n1", {{"gemm_flops", flops}, {"gemm_type", type}})});
    REQUIRE(section.rows.size() == 1);
    return section.rows[0].name + ": " + section.rows[0].text;
  };
  CHECK(text("67.5e9", "f32") == "GEMM f32: 67.5 GFLOP/s");
  CHECK(text("6.203e14", "bf16") == "GEMM bf16: 620.3 TFLOP/s");
  CHECK(report_of(probe, {rank_with(0, "n1", {})}).rows.empty());
}

TEST_CASE("doctor: ranks that share cores are told of, if there are too few") {
  const Probe probe = allocation_probe();
  const auto rank = [](int number, const std::string& cores, const std::string& threads) {
    return rank_with(number, "n1",
                     {{"machine", "m"},
                      {"cores", cores},
                      {"machine_cores", "0-3"},
                      {"threads", threads},
                      {"memory", "1e9"}});
  };
  CHECK(report_of(probe, {rank(0, "0-1", "2"), rank(1, "2-3", "2")}).warnings.empty());
  CHECK(report_of(probe, {rank(0, "0-3", "2"), rank(1, "0-3", "2")}).warnings.empty());
  CHECK(any_has(report_of(probe, {rank(0, "0-1", "2"), rank(1, "0-1", "2")}).warnings,
                "ranks 0, 1 on n1 share cores 0-1 for 4 threads"));
  CHECK(any_has(report_of(probe, {rank(0, "0", "2")}).warnings, "rank 0 on n1 has 2 threads on core 0"));
}

TEST_CASE("doctor: an address that two nodes have is a trap") {
  const Probe probe = interface_probe();
  const auto node = [](int rank, const std::string& name, const std::string& more) {
    const std::string address = "eth0=10.0.0." + std::to_string(rank + 1) + "/24:1000:1500";
    return rank_with(rank, name, {{"network", name}, {"interfaces", address + more}});
  };
  const Section fine = report_of(probe, {node(0, "n1", ""), node(1, "n2", "")});
  CHECK(fine.warnings.empty());
  CHECK(fine.rows[0].text == "TCP from n1 to n2 over eth0 (10.0.0.1/24, 1 Gbit/s, MTU 1500)");
  const std::string docker = " docker0=172.17.0.1/16:0:1500";
  CHECK(any_has(report_of(probe, {node(0, "n1", docker), node(1, "n2", docker)}).warnings,
                "docker0 has the same address 172.17.0.1 on n1 and n2: MPI may wait for ever on it; set "
                "OMPI_MCA_btl_tcp_if_include=eth0"));
  CHECK(any_has(
      report_of(probe, {node(0, "n1", " ib0=10.9.0.1/24:0:1500"), node(1, "n2", " ib0=10.9.0.2/24:0:1500")})
          .warnings,
      "MPI spreads its messages over eth0 and ib0"));
}

TEST_CASE("doctor: clocks that are apart, versions that differ") {
  const auto clocks = report_of(
      clock_probe(), {rank_with(0, "n1", {}), rank_with(1, "n2", {{"ahead", "-3.5"}, {"apart", "3.5"}}),
                      rank_with(2, "n3", {{"ahead", "0.01"}, {"apart", "0.01"}})});
  REQUIRE(clocks.warnings.size() == 1);
  CHECK(any_has(clocks.warnings, "the clock of n2 is 3.5 s behind n1's"));
  const auto software =
      report_of(software_probe(), {rank_with(0, "n1", {{"HDF5", "1.10.8"}, {"Slurm", "22"}}),
                                   rank_with(1, "n1", {{"HDF5", "1.10.8"}}),
                                   rank_with(2, "n2", {{"HDF5", "1.10.4"}, {"Slurm", "22"}})});
  REQUIRE(software.warnings.size() == 1);
  CHECK(any_has(software.warnings, "HDF5 differs: 1.10.8 on n1, 1.10.4 on n2"));
}

TEST_CASE("doctor: problems of ranks are told once, and the most serious one counts") {
  Section section;
  section.name = "folder";
  section.ranks = {rank_with(0, "n1", {{"rate", "1.5"}, {"name", "a \"b\""}}), rank_with(1, "n1", {}),
                   rank_with(2, "n2", {})};
  section.ranks[1].problem = section.ranks[2].problem = "cannot write";
  section.ranks[1].code = section.ranks[2].code = ExitCode::cannot_create;
  section.rows.push_back({"write", "10 MB/s"});
  tell_problems(section);
  CHECK(section.failures == std::vector<std::string>{"rank 1 on n1 (and 1 more): cannot write"});
  CHECK(section.code == ExitCode::cannot_create);
  CHECK(more_serious(ExitCode::cannot_create, ExitCode::peer_failed) == ExitCode::peer_failed);
  CHECK(more_serious(ExitCode::finished, ExitCode::bad_config) == ExitCode::bad_config);

  Report report;
  report.sections.push_back(section);
  report.advice = {"do this"};
  CHECK(to_words(report) ==
        "folder\n  write                10 MB/s\n  failed: rank 1 on n1 (and 1 more): cannot write\nadvice\n "
        " do this\n"
        "1 failure, 0 warnings\n");
  const std::string json = to_json(report);
  CHECK(test::JsonCheck::accepts(json));
  CHECK(json.find(R"("rank":0,"node":"n1","problem":null,"name":"a \"b\"","rate":1.5)") != std::string::npos);
}

TEST_CASE("doctor: facts survive the way to other ranks") {
  RankFacts facts = rank_with(3, "n2", {{"a", "1"}, {"b", "two\nlines"}, {"c", "x=y"}});
  facts.problem = "it failed";
  facts.code = ExitCode::cannot_create;
  const RankFacts again = from_text(to_text(facts), 3, "n2");
  CHECK(again.facts == Facts{{"a", "1"}, {"b", "two lines"}, {"c", "x=y"}});
  CHECK(again.problem == facts.problem);
  CHECK(again.code == facts.code);
}
