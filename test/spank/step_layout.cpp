#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "../unit/temp_folder.h"
#include "step/host_file.h"
#include "step/step.h"
#include "step/task_layout.h"

using namespace lockstep::spank;

namespace {

// Rank 1 or 2 of an arbitrary step without PMIx on n1, n2, n3.
Step step_with(const std::string& host_file, const std::string& node, int rank,
               const std::string& tasks = "1(x3)") {
  const std::string index = std::to_string(node.back() - '1');
  return read_step({{"SLURM_STEP_NODELIST", "n[1-3]"},
                    {"SLURM_STEP_NUM_NODES", "3"},
                    {"SLURM_STEP_NUM_TASKS", tasks == "1(x3)" ? "3" : "4"},
                    {"SLURM_STEP_TASKS_PER_NODE", tasks},
                    {"SLURM_DISTRIBUTION", "arbitrary"},
                    {"SLURM_HOSTFILE", host_file},
                    {"SLURM_PROCID", std::to_string(rank)},
                    {"SLURM_GTIDS", std::to_string(rank)},
                    {"SLURM_NODEID", index},
                    {"SLURMD_NODENAME", node}},
                   {});
}

std::string hosts_of(const std::string& text, bool complete = true) {
  const auto file = parse_host_file(text, complete);
  if (!file) return "none";
  std::string hosts;
  for (const auto& entry : file->entries) hosts += entry.host + "*" + std::to_string(entry.tasks) + " ";
  return hosts;
}

}  // namespace

TEST_CASE("tasks per node are read with repetitions", "[step]") {
  CHECK(parse_tasks_per_node("8(x3),7") == std::vector<int>{8, 8, 8, 7});
  CHECK(parse_tasks_per_node("2,1") == std::vector<int>{2, 1});
  CHECK(parse_tasks_per_node("4") == std::vector<int>{4});
  CHECK(parse_tasks_per_node("1(x100000)")->size() == 100'000);
  for (const char* text : {"", ",", "1,", "1(x)", "1(x0)", "1(x2", "1(2)", "(x2)", "a", "-1", "1(x-2)",
                           "1(x100001)", "1(x60000),1(x60000)", "99999999999", "1(x2)3"}) {
    INFO(text);
    CHECK_FALSE(parse_tasks_per_node(text));
  }
}

TEST_CASE("PMIx's layout tells the node of each rank", "[step]") {
  const auto mapping = parse_task_mapping("(vector,(2,1,1),(0,2,2))");
  REQUIRE(mapping);
  const int expected[] = {2, 0, 0, 1, 1};
  for (int rank = 0; rank < 5; ++rank) CHECK(node_of_rank(*mapping, rank) == expected[rank]);
  CHECK_FALSE(node_of_rank(*mapping, 5));
  for (const char* text : {"", "(vector)", "(vector,)", "(vector,(0,1))", "(vector,(0,1,1,1))",
                           "(vector,(0,1,1)", "(vector,(0,1,1)x)", "vector,(0,1,1)", "(vector,(0,0,1))",
                           "(vector,(-1,1,1))", "(vector,(0,1,99999999999))"}) {
    INFO(text);
    CHECK_FALSE(parse_task_mapping(text));
  }
}

TEST_CASE("ranks of a node are read", "[step]") {
  CHECK(parse_ranks("0,4,12") == std::vector<int>{0, 4, 12});
  for (const char* text : {"", ",", "0,", "a", "0-3", "-1"}) CHECK_FALSE(parse_ranks(text));
}

// The forms that srun of Slurm 22.05 takes.
TEST_CASE("host files hold names, counts and comments", "[step]") {
  CHECK(hosts_of("n3\nn1\n") == "n3*1 n1*1 ");
  CHECK(hosts_of("n3*2\nn1") == "n3*2 n1*1 ");
  CHECK(hosts_of("n3,n1\n\nn2\n") == "n3*1 n1*1 n2*1 ");
  CHECK(hosts_of("# first\nn3 # x\nn1#y\n") == "n3*1 n1*1 ");
  CHECK(hosts_of("").empty());
  for (const char* text :
       {"n3 slots=2", "n[1-2]", "n3 n1", "n3\\\nn1", "n3*0", "n3*x", "n3*-1", "n3*99999999999", "*2"}) {
    INFO(text);
    CHECK(hosts_of(text) == "none");
  }
  CHECK(hosts_of("n3\nn1\nlongna", false) == "n3*1 n1*1 ");
  CHECK(hosts_of("longna", false).empty());
}

TEST_CASE("in an arbitrary distribution rank 0 is on the first host of the host file", "[step]") {
  const TempFolder folder;
  const std::string path = folder / "hosts";
  std::ofstream(path) << "n3\nn1\nn2\nn4\n";
  CHECK(step_with(path, "n1", 1).rank0_node == "n3");
  CHECK(step_with(path, "n2", 2).rank0_node == "n3");
  CHECK(step_with(path, "n1", 1).rank0_note == "first host of the host file (SLURM_HOSTFILE)");

  std::ofstream(path) << "n3*2\nn1\nn2\n";
  CHECK(step_with(path, "n1", 2, "1(x2),2").rank0_node == "n3");
}

TEST_CASE("a host file of another step is not believed", "[step]") {
  const TempFolder folder;
  const std::string path = folder / "hosts";
  std::ofstream(path) << "n2\nn1\nn3\n";
  CHECK(step_with(path, "n1", 2).rank0_node.empty());             // rank 2 would be on n3
  CHECK(step_with(path, "n1", 1, "2,1(x2)").rank0_node.empty());  // four tasks, three hosts
  std::ofstream(path) << "n4\nn1\nn2\n";
  CHECK(step_with(path, "n1", 1).rank0_node.empty());  // n4 is not of the step
  std::ofstream(path) << "n3\nn1\nn3\n";
  CHECK(step_with(path, "n1", 1).rank0_node.empty());  // n3 has one task
  CHECK(step_with(path, "n1", 1).rank0_note ==
        "the distribution is arbitrary, and the host file (SLURM_HOSTFILE) is not this step's");
}

TEST_CASE("what is no plain file is not waited for", "[step]") {
  const TempFolder folder;
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  for (const std::string& path :
       {fifo, folder.path().string(), std::string("/dev/zero"), std::string("/nonexistent")}) {
    INFO(path);
    CHECK_FALSE(read_host_file(path));
    CHECK(step_with(path, "n1", 1).rank0_node.empty());
  }
}

TEST_CASE("of a large host file the beginning is enough", "[step]") {
  const TempFolder folder;
  const std::string path = folder / "hosts";
  std::string text = "n3\nn1\nn2\n";
  while (text.size() < 100'000) text += "another-node\n";
  std::ofstream(path) << text;
  const auto file = read_host_file(path);
  REQUIRE(file);
  CHECK_FALSE(file->complete);
  CHECK(file->entries.size() < 6000);
  CHECK(file->entries.back().host == "another-node");
  CHECK(step_with(path, "n1", 1).rank0_node == "n3");
}
