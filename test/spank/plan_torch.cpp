// PyTorch's variables: for programs the rank, for torchrun its options, for other launchers nothing.
#include <catch2/catch.hpp>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "plan/concern.h"
#include "plan/launcher.h"

using namespace lockstep::spank;

namespace {

std::vector<std::string> words(const std::string& command) {
  std::istringstream stream(command);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

// Rank 3 of 4, two tasks on each of two nodes.
struct Setup {
  Step step;
  Machine machine;
  Profile profile;
  UserOptions options;
  Environment environment;
  TorchMode torch = TorchMode::automatic;

  explicit Setup(const std::string& command) {
    step.rank = 3;
    step.ranks = 4;
    step.local_rank = 1;
    step.local_ranks = 2;
    step.node_index = 1;
    step.nodes = 2;
    step.rank0_node = "n1";
    step.reserved_ports = {41000, 41001};
    step.command = words(command);
  }
  // Rank 1 of 2 in an arbitrary distribution: it is on the node with number 0.
  static Setup one_per_node(const std::string& command) {
    Setup setup(command);
    setup.step.rank = 1;
    setup.step.ranks = 2;
    setup.step.local_rank = 0;
    setup.step.local_ranks = 1;
    setup.step.node_index = 0;
    return setup;
  }
  static Setup single(const std::string& command) {
    Setup setup(command);
    setup.step.rank = setup.step.local_rank = setup.step.node_index = 0;
    setup.step.ranks = setup.step.local_ranks = setup.step.nodes = 1;
    return setup;
  }
  Plan plan() const {
    Settings settings({options, environment, nullptr, profile, nullptr});
    const Facts facts{step, machine, profile, nullptr, nullptr, torch, {}, {}};
    set_rendezvous(facts, settings);
    set_torch(facts, settings);
    return std::move(settings).take();
  }
};

// All but the rendezvous, in order.
std::string made(const Plan& plan) {
  std::string text;
  for (const Decision& decision : plan.decisions) {
    if (decision.variable.starts_with("MASTER_") || decision.variable.starts_with("NCCL_")) continue;
    text += (text.empty() ? "" : " ") + decision.variable + "=" + decision.value.value_or("(not set)");
  }
  return text;
}

const std::string ranks_of_4 = "RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 NODE_RANK=1";
const std::string ranks_of_2 = "RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 NODE_RANK=0";
const std::string ranks_of_1 = "RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 NODE_RANK=0";
const std::string torchrun_of_2 = "PET_MASTER_PORT=41000 PET_MASTER_ADDR=n1 PET_NNODES=2 PET_NODE_RANK=1";

Launcher launcher(const std::string& command) {
  return launcher_of(words(command));
}

}  // namespace

TEST_CASE("the daemons of mpirun are known", "[torch]") {
  CHECK(is_mpi_daemon(words("/usr/bin/orted -mca ess slurm")));
  CHECK(is_mpi_daemon(words("prted")));
  CHECK_FALSE(is_mpi_daemon(words("mpirun orted")));
  CHECK_FALSE(is_mpi_daemon({}));
}

TEST_CASE("a program in a step of several tasks gets its rank", "[torch]") {
  CHECK(made(Setup("python3 train.py").plan()) == ranks_of_4);
  CHECK(made(Setup("./train --nnodes 4").plan()) == ranks_of_4);
  CHECK(made(Setup("bash run.sh").plan()) == ranks_of_4);
  CHECK(made(Setup::one_per_node("python3 train.py").plan()) == ranks_of_2);
}

TEST_CASE("a single task gets a rank only where torch=on", "[torch]") {
  Setup setup = Setup::single("python3 train.py");
  CHECK(made(setup.plan()) == "RANK=(not set)");
  setup.torch = TorchMode::on;
  CHECK(made(setup.plan()) == ranks_of_1);
}

TEST_CASE("torch=off sets nothing", "[torch]") {
  for (const char* command : {"python3 train.py", "torchrun train.py", "bash run.sh"}) {
    Setup setup = Setup::one_per_node(command);
    setup.torch = TorchMode::off;
    CHECK(made(setup.plan()).empty());
  }
}

TEST_CASE("torchrun gets its options, and never a rank", "[torch]") {
  for (const TorchMode mode : {TorchMode::automatic, TorchMode::on}) {
    for (const char* command :
         {"torchrun --nproc-per-node=2 train.py", "python3 -m torch.distributed.run train.py",
          "python -m torch.distributed.launch train.py"}) {
      INFO(command);
      Setup setup = Setup::one_per_node(command);
      setup.torch = mode;
      CHECK(made(setup.plan()) == torchrun_of_2);
      CHECK(setup.plan().findings.empty());
      Setup crowded(command);
      crowded.torch = mode;
      CHECK(made(crowded.plan()).empty());
      CHECK(crowded.plan().findings.empty());  // a fact about the step is for rank 0 to tell
      crowded.step.rank = 0;
      REQUIRE(crowded.plan().findings.size() == 1);
      CHECK(crowded.plan().findings[0].severity == Finding::Severity::advice);
      CHECK(crowded.plan().findings[0].text ==
            "torchrun is started 4 times on 2 nodes: each start is a group of its own");
    }
  }
}

TEST_CASE("on one node torchrun gets a port that no other one has, and no address to look up", "[torch]") {
  CHECK(made(Setup::single("torchrun --nproc-per-node=2 train.py").plan()) == "PET_MASTER_PORT=41000");
}

TEST_CASE("torchrun --standalone is left alone", "[torch]") {
  CHECK(made(Setup::one_per_node("torchrun --standalone train.py").plan()).empty());
  CHECK(Setup("torchrun --standalone train.py").plan().findings.empty());
}

TEST_CASE("torchrun meets where the user says", "[torch]") {
  Setup setup = Setup::one_per_node("torchrun train.py");
  setup.environment = {{"MASTER_ADDR", "mine"}, {"MASTER_PORT", "29500"}, {"PET_NNODES", "1:2"}};
  const Plan plan = setup.plan();
  CHECK(*plan.find("PET_MASTER_ADDR")->value == "mine");
  CHECK(*plan.find("PET_MASTER_PORT")->value == "29500");
  CHECK(*plan.find("PET_NNODES")->value == "1:2");
}

TEST_CASE("torchrun without a known address is not told of other nodes", "[torch]") {
  Setup setup = Setup::one_per_node("torchrun train.py");
  setup.step.rank0_node.clear();
  CHECK(made(setup.plan()) == "PET_MASTER_PORT=41000");
}

TEST_CASE("a shell with one task per node gets both, since it may start either", "[torch]") {
  for (const char* command : {"bash run.sh", "./run.sh", "sh -c python3"}) {
    INFO(command);
    CHECK(made(Setup::one_per_node(command).plan()) == ranks_of_2 + " " + torchrun_of_2);
  }
  Setup single = Setup::single("bash run.sh");
  single.torch = TorchMode::on;
  CHECK(made(single.plan()) == ranks_of_1);
}

TEST_CASE("other launchers get a rank only where torch=on", "[torch]") {
  for (const char* command :
       {"mpirun -n 2 ./train", "accelerate launch train.py", "deepspeed train.py", "orterun x"}) {
    INFO(command);
    Setup setup(command);
    CHECK(made(setup.plan()).empty());
    setup.torch = TorchMode::on;
    CHECK(made(setup.plan()) == ranks_of_4);
  }
}

TEST_CASE("a rank that the user has set stays", "[torch]") {
  Setup setup("python3 train.py");
  setup.environment = {{"RANK", "7"}};
  CHECK(*setup.plan().find("RANK")->value == "7");
  CHECK(*setup.plan().find("WORLD_SIZE")->value == "4");
}

TEST_CASE("launchers are recognised by name, as a module, and as a script of Python", "[torch]") {
  for (const char* command :
       {"torchrun train.py", "/opt/env/bin/torchrun", "python3 /opt/env/bin/torchrun train.py",
        "python3.11 -u -m torch.distributed.run train.py", "python -um torch.distributed.run",
        "python -mtorch.distributed.launch train.py", "python -X dev -W ignore -m torch.distributed.run",
        "python3 -O --check-hash-based-pycs always -m torch.distributed.run"}) {
    INFO(command);
    CHECK(launcher(command) == Launcher::torchrun);
  }
  for (const char* command :
       {"mpirun", "mpiexec -n 4 x", "mpiexec.hydra", "prterun", "horovodrun", "ray start", "colossalai run",
        "deepspeed", "python -m accelerate.commands.launch", "python3 /usr/bin/accelerate launch x",
        "python -m deepspeed.launcher.runner"}) {
    INFO(command);
    CHECK(launcher(command) == Launcher::other);
  }
  for (const char* command :
       {"", "python3", "python3 train.py torchrun", "python3 -m train torch.distributed.run",
        "python3 -c torchrun", "python3 -m", "pythonista torchrun", "./torchrunner", "train torchrun",
        "python3 -", "python3 -W torchrun x.py"}) {
    INFO(command);
    CHECK(launcher(command) == Launcher::none);
  }
}

TEST_CASE("programs that start programs are looked through", "[torch]") {
  for (const char* command : {"env A=1 B=2 torchrun x",
                              "env -u A -i PATH=/bin torchrun x",
                              "/usr/bin/env --unset A --chdir=/ torchrun",
                              "numactl --cpunodebind=0 --membind 0 torchrun x",
                              "numactl -N 0 -m 0 python -m torch.distributed.run",
                              "nice -n 5 torchrun",
                              "nice -5 torchrun",
                              "timeout -k 5 1h torchrun x",
                              "timeout --signal=TERM 60 torchrun",
                              "time -p torchrun",
                              "nohup torchrun",
                              "taskset 0xff torchrun",
                              "taskset -c 0-3 torchrun",
                              "stdbuf -oL torchrun",
                              "chrt -b 0 torchrun",
                              "env -- torchrun",
                              "nice env A=/x/y numactl -l timeout 9 torchrun",
                              "apptainer exec --nv --bind /data:/data image.sif torchrun x",
                              "singularity exec image.sif python3 -m torch.distributed.run",
                              "nsys profile -o out --trace cuda torchrun x",
                              "uv run torchrun train.py",
                              "conda run -n base bash -c torchrun"}) {
    INFO(command);
    CHECK(launcher(command) == Launcher::torchrun);
  }
  CHECK(launcher("env A=torchrun ./train") == Launcher::none);
  CHECK(launcher("nsys profile -o torchrun.out python3 train.py") == Launcher::none);
  CHECK(launcher("apptainer run image.sif") == Launcher::none);
  CHECK(launcher("numactl -l bash run.sh") == Launcher::shell);
  CHECK(launcher("timeout 10") == Launcher::none);
  CHECK(launcher("env -u") == Launcher::none);
}

TEST_CASE("the command line of a shell is looked at, one command after another", "[torch]") {
  const auto in_shell = [](const std::string& text) {
    return launcher_of(std::vector<std::string>{"bash", "-c", text});
  };
  CHECK(in_shell("cd /x && torchrun --nproc-per-node=2 train.py") == Launcher::torchrun);
  CHECK(in_shell("A=1 exec python -m torch.distributed.run x") == Launcher::torchrun);
  CHECK(in_shell("if true; then \"torchrun\" x; fi") == Launcher::torchrun);
  CHECK(in_shell("source env.sh\nmpirun -n 2 x") == Launcher::other);
  CHECK(in_shell("bash -c 'torchrun x'") == Launcher::torchrun);
  CHECK(in_shell("python train.py --data /data/ray --launcher torchrun") == Launcher::shell);
  CHECK(in_shell("echo torchrun") == Launcher::shell);
  CHECK(in_shell("") == Launcher::shell);
  CHECK(launcher_of(std::vector<std::string>{"bash", "-lc", "torchrun x"}) == Launcher::torchrun);
  CHECK(launcher_of(std::vector<std::string>{"bash", "--login", "-c", "torchrun x"}) == Launcher::torchrun);
  CHECK(launcher_of(std::vector<std::string>{"bash", "run.sh", "-c", "torchrun"}) == Launcher::shell);
}

TEST_CASE("commands without end are not followed without end", "[torch]") {
  std::vector<std::string> deep(100'000, "env");
  deep.emplace_back("torchrun");
  CHECK(launcher_of(deep) == Launcher::none);
  std::string nested;
  for (int i = 0; i < 10'000; ++i) nested += "bash -c ";
  CHECK(launcher_of(std::vector<std::string>{"bash", "-c", nested}) == Launcher::shell);
  CHECK(launcher_of(std::vector<std::string>{"bash", "-c", std::string(1 << 20, ';')}) == Launcher::shell);
}
