// What is said about NCCL's files, about settings in each other's way, and where debug files go.
#include <catch2/catch.hpp>
#include <fstream>

#include "../unit/temp_folder.h"
#include "plan/concern.h"
#include "plan/table.h"

using namespace lockstep::spank;

namespace {

struct Job {
  Step step;
  Machine machine;
  Profile profile;
  UserOptions options;
  Environment environment;
  std::optional<NcclConf> user_file;
  std::optional<NcclConf> site_file;
  std::string home;

  Job() {
    step.nodes = 2;
    profile.name = "p";
  }
  void user(const std::string& text) { user_file = parse_nccl_conf(text, "user.conf"); }
  void site(const std::string& text) { site_file = parse_nccl_conf(text, "site.conf"); }
  void constant(const std::string& variable, const std::string& value) {
    profile.constants.push_back({variable, value, 1});
  }

  Plan plan_of(Concern concern) const {
    const NcclConf* users = user_file ? &*user_file : nullptr;
    const NcclConf* sites = site_file ? &*site_file : nullptr;
    Settings settings({options, environment, users, profile, sites});
    concern({step, machine, profile, users, sites, TorchMode::automatic, home, {}}, settings);
    return std::move(settings).take();
  }
  std::vector<std::string> findings(Concern concern = look_at_files) const {
    std::vector<std::string> lines;
    for (const Finding& finding : plan_of(concern).findings) lines.push_back(line_of(finding));
    return lines;
  }
};

using Lines = std::vector<std::string>;

std::string value_of(const Plan& plan, const std::string& variable) {
  const Decision* decision = plan.find(variable);
  return decision == nullptr || !decision->value ? "none" : *decision->value;
}

}  // namespace

TEST_CASE("nothing is said where nothing is odd", "[plan][files]") {
  Job job;
  CHECK(job.findings().empty());
  job.user("# mine\n\nNCCL_DEBUG=WARN\nNCCL_SOCKET_IFNAME==ib0\n");
  job.site("NCCL_IB_TIMEOUT=22\n");
  job.environment = {{"NCCL_NET_GDR_LEVEL", "PHB"}, {"NCCL_IB_HCA", "=mlx5_0"}};
  CHECK(job.findings().empty());
}

TEST_CASE("a graph file is a problem whoever names it, with the way to be rid of it", "[plan][files]") {
  const std::string text =
      " forces NCCL's channels: it is a debugging aid, not for production, and stops the job where it does "
      "not fit; ";
  Job job;
  job.site("A=b\nNCCL_GRAPH_FILE=/g.xml\n");
  CHECK(job.findings() == Lines{"problem: NCCL_GRAPH_FILE='/g.xml' (site.conf:2)" + text +
                                "have the administrator remove NCCL_GRAPH_FILE from site.conf:2"});
  job.user("NCCL_GRAPH_FILE=/u.xml\n");
  CHECK(job.findings() ==
        Lines{"problem: NCCL_GRAPH_FILE='/u.xml' (user.conf:1)" + text + "remove user.conf:1"});
  job.environment = {{"NCCL_GRAPH_FILE", "/e.xml"}};
  CHECK(job.findings() == Lines{"problem: NCCL_GRAPH_FILE='/e.xml' (environment)" + text +
                                "unset it, or --nccl-unset=NCCL_GRAPH_FILE"});
  job.options.set = {{"NCCL_GRAPH_FILE", "/o.xml"}};
  CHECK(job.findings() == Lines{"problem: NCCL_GRAPH_FILE='/o.xml' (--nccl-set)" + text +
                                "leave out --nccl-set=NCCL_GRAPH_FILE"});
  job.options.set = {{"NCCL_GRAPH_FILE", ""}};
  CHECK(job.findings().empty());
}

TEST_CASE("lines that NCCL misreads are told with file and line", "[plan][files]") {
  Job job;
  job.user(
      "NCCL_DEBUG =INFO\nexport A=b\n #NCCL_DEBUG=INFO\nNCCL_SOCKET_IFNAME= eth0\nNCCL_NET=\"OFI\"\n"
      "NCCL_IB_TC=1\nNCCL_IB_TC=2\n");
  CHECK(
      job.findings() ==
      Lines{
          "advice: user.conf:1 sets a variable 'NCCL_DEBUG ', which nobody reads; write NAME=VALUE alone, "
          "without blanks",
          "advice: user.conf:2 sets a variable 'export A', which nobody reads; write NAME=VALUE alone, "
          "without "
          "blanks",
          "advice: user.conf:4 sets 'NCCL_SOCKET_IFNAME' to ' eth0', blanks included; write the value alone",
          "advice: user.conf:5 sets 'NCCL_NET' to '\"OFI\"', quotes included; write the value alone",
          "advice: user.conf has 1 more lines that NCCL misreads; nccl-setup check user.conf"});
  Job twice;
  twice.site("NCCL_IB_TC=1\nNCCL_IB_TC=2\n");
  CHECK(
      twice.findings() ==
      Lines{
          "advice: site.conf:2 sets NCCL_IB_TC again, without effect: line 1 counts; remove one of the two"});
  Job dos;
  dos.site("NCCL_IB_TC=1\r\n");
  CHECK(dos.findings() ==
        Lines{"advice: site.conf:1 ends in a carriage return, which older NCCL takes into the "
              "value; save the file with Unix line ends"});
}

TEST_CASE("a hostile file gives few, short and harmless lines", "[plan][files]") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "\x1b[2J" + std::string(900, 'A') + std::to_string(i) + "=\x07\n";
  Job job;
  job.user(text);
  const Lines findings = job.findings();
  CHECK(findings.size() == 5);
  for (const std::string& line : findings) {
    CHECK(line.size() < 250);
    CHECK(line.find_first_of("\x1b\x07\n") == std::string::npos);
  }
}

TEST_CASE("a value of the wrong type is told where it is in effect", "[plan][files]") {
  Job job;
  job.site("NCCL_BUFFSIZE=8MB\nNCCL_IB_TIMEOUT=22 # large\n");
  CHECK(job.findings() == Lines{"advice: NCCL_BUFFSIZE (site.conf:1) is '8MB', which NCCL reads as 8: it "
                                "takes a whole number from 0; "
                                "correct the value",
                                "advice: NCCL_IB_TIMEOUT (site.conf:2) is '22 # large', which NCCL reads as "
                                "22: it takes a whole number "
                                "from 0; correct the value"});
  job.environment = {{"NCCL_BUFFSIZE", "8388608"}, {"NCCL_IB_TIMEOUT", "22"}};
  CHECK(job.findings().empty());
}

TEST_CASE("a setting without effect is a problem if it was meant", "[plan][files]") {
  Job job;
  job.environment = {{"NCCL_IB_HCA", "mlx5_0"}, {"NCCL_IB_DISABLE", "1"}};
  CHECK(job.findings() == Lines{"problem: NCCL_IB_HCA='mlx5_0' (environment) has no effect beside "
                                "NCCL_IB_DISABLE='1' (environment); "
                                "unset it, or --nccl-unset=NCCL_IB_DISABLE"});
  job.environment = {{"NCCL_IB_HCA", "mlx5_0"}, {"NCCL_IB_DISABLE", "0"}};
  CHECK(job.findings().empty());
  job.environment = {{"NCCL_IB_HCA", "mlx5_0"}, {"NCCL_NET", "socket"}};
  CHECK(
      job.findings() ==
      Lines{
          "problem: NCCL_IB_HCA='mlx5_0' (environment) has no effect beside NCCL_NET='socket' (environment); "
          "unset it, or --nccl-unset=NCCL_NET"});
  // The site gets in the user's way, and the user in the site's: only the first is a surprise.
  job.environment = {{"NCCL_IB_HCA", "mlx5_0"}};
  job.constant("NCCL_IB_DISABLE", "1");
  CHECK(
      job.findings() ==
      Lines{
          "problem: NCCL_IB_HCA='mlx5_0' (environment) has no effect beside NCCL_IB_DISABLE='1' (profile p); "
          "have the administrator remove NCCL_IB_DISABLE from profile p"});
  Job deliberate;
  deliberate.environment = {{"NCCL_NET", "Socket"}};
  deliberate.site("NCCL_IB_HCA=mlx5_0\n");
  CHECK(deliberate.findings().empty());
}

TEST_CASE("Slingshot's network is chosen by one variable", "[plan][files]") {
  Job job;
  job.environment = {{"NCCL_NET", "AWS Libfabric"}, {"NCCL_NET_PLUGIN", "ofi"}};
  CHECK(job.findings().empty());
  job.machine.interfaces.emplace_back();
  job.machine.interfaces.back().name = "hsn0";
  CHECK(job.findings() ==
        Lines{"advice: NCCL_NET='AWS Libfabric' (environment) and NCCL_NET_PLUGIN='ofi' (environment) are "
              "both set: on "
              "Slingshot the first alone chooses the network; unset it, or --nccl-unset=NCCL_NET_PLUGIN"});
  job.environment.erase("NCCL_NET");
  CHECK(job.findings().empty());
}

TEST_CASE("the loopback is a problem from two nodes on", "[plan][files]") {
  Job job;
  for (const char* value : {"lo", "=lo", "=lo:0", "lo,lo"}) {
    job.environment = {{"NCCL_SOCKET_IFNAME", value}};
    job.step.nodes = 2;
    CHECK(job.findings() ==
          Lines{"problem: NCCL_SOCKET_IFNAME='" + std::string(value) +
                "' (environment): the loopback reaches no other of the 2 nodes; unset it, or "
                "--nccl-unset=NCCL_SOCKET_IFNAME"});
    job.step.nodes = 1;
    CHECK(job.findings().empty());
  }
  job.step.nodes = 2;
  for (const char* value : {"^lo", "lo,ib0", "=lom1", ""}) {
    job.environment = {{"NCCL_SOCKET_IFNAME", value}, {"GLOO_SOCKET_IFNAME", "ib0"}};
    CHECK(job.findings().empty());
  }
  job.environment = {{"GLOO_SOCKET_IFNAME", "lo"}};
  CHECK(job.findings().size() == 1);
}

TEST_CASE("switches that were left from a search for faults are told, the site's own are not",
          "[plan][files]") {
  Job job;
  job.environment = {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}, {"NCCL_IB_DISABLE", "1"}};
  CHECK(job.findings() == Lines{"advice: NCCL_P2P_DISABLE='1' (environment): the GPUs of a node exchange "
                                "data through host memory, not "
                                "NVLink or PCIe; unset it, or --nccl-unset=NCCL_P2P_DISABLE",
                                "advice: NCCL_SHM_DISABLE='1' (environment): processes of a node that cannot "
                                "use P2P talk through the "
                                "network; unset it, or --nccl-unset=NCCL_SHM_DISABLE"});
  Hca hca;
  hca.ports.emplace_back();
  hca.ports.back().link_layer = "InfiniBand";
  job.machine.hcas = {hca};
  CHECK(job.findings().size() == 2);
  job.machine.hcas[0].ports[0].active = true;
  CHECK(job.findings().size() == 3);
  job.step.nodes = 1;
  CHECK(job.findings().size() == 2);
  job.environment.clear();
  job.constant("NCCL_P2P_DISABLE", "1");
  CHECK(job.findings().empty());
}

TEST_CASE("NCCL_CONF_FILE takes the place of ~/.nccl.conf, and may name nothing", "[plan][files]") {
  const TempFolder folder;
  Job job;
  job.home = folder.path().string();
  job.environment = {{"NCCL_CONF_FILE", "/x.conf"}};
  CHECK(job.findings() == Lines{"advice: NCCL_CONF_FILE (environment) names '/x.conf', which cannot be read: "
                                "NCCL goes on without a "
                                "word; correct the path, or unset it, or --nccl-unset=NCCL_CONF_FILE"});
  job.user("NCCL_DEBUG=WARN\n");
  CHECK(job.findings().empty());
  std::ofstream(folder / ".nccl.conf") << "NCCL_DEBUG=INFO\n";
  CHECK(
      job.findings() ==
      Lines{"advice: ~/.nccl.conf is not read, because NCCL_CONF_FILE names another file; move its lines to "
            "'/x.conf', or unset it, or --nccl-unset=NCCL_CONF_FILE"});
  job.environment = {{"NCCL_CONF_FILE", job.home + "/.nccl.conf"}};
  CHECK(job.findings().empty());
  job.environment.clear();
  CHECK(job.findings().empty());
}

TEST_CASE("a file of NCCL's that cannot be read is told of, whichever it is", "[plan][files]") {
  Job job;
  const std::string mend = "make it a plain file that you can read, with settings alone, or remove it";
  job.user("");
  job.user_file->obstacle = Obstacle::unreadable;
  job.user_file->problem = "is a folder";
  CHECK(job.findings() ==
        Lines{"advice: 'user.conf' is a folder: NCCL goes on without it and without a word; " + mend});
  job.user_file->obstacle = Obstacle::stream;
  job.user_file->problem = "is a pipe";
  CHECK(job.findings() ==
        Lines{"problem: 'user.conf' is a pipe: NCCL would read from it, and may wait without end; " + mend});
  job.user_file->obstacle = Obstacle::too_large;
  CHECK(
      job.findings() ==
      Lines{"advice: 'user.conf' is larger than 1 MiB: not looked at by the plugin; NCCL reads it; " + mend});
  job.environment = {{"NCCL_CONF_FILE", "user.conf"}};
  CHECK(
      job.findings() ==
      Lines{
          "advice: 'user.conf' is larger than 1 MiB: not looked at by the plugin; NCCL reads it; correct the "
          "path, or unset it, or --nccl-unset=NCCL_CONF_FILE"});
  Job site;
  site.site("");
  site.site_file->obstacle = Obstacle::unreadable;
  site.site_file->problem = "cannot be opened: Permission denied";
  CHECK(
      site.findings() ==
      Lines{"advice: 'site.conf' cannot be opened: Permission denied: NCCL goes on without it and without a "
            "word; have the administrator make it a plain file that all can read, with settings alone"});
}

TEST_CASE("the profile's debug file is named for each rank and has a level", "[plan][debug-file]") {
  Job job;
  CHECK(job.plan_of(set_debug_file).decisions.empty());
  job.profile.debug_file = "/log/%j.%s/%h-%p-%r-%%r";
  job.step.job = "12";
  job.step.step = "3";
  job.step.rank = 7;
  const Plan plan = job.plan_of(set_debug_file);
  CHECK(value_of(plan, "NCCL_DEBUG_FILE") == "/log/12.3/%h-%p-7-%%r");
  CHECK(value_of(plan, "NCCL_DEBUG") == "WARN");
  CHECK(plan.find("NCCL_DEBUG_FILE")->source == Source::profile);
  CHECK(plan.findings.empty());
}

TEST_CASE("a level that somebody has chosen stays, and its user is told where the messages are",
          "[plan][debug-file]") {
  Job job;
  job.profile.debug_file = "/log/%r";
  job.constant("NCCL_DEBUG", "INFO");
  CHECK(value_of(job.plan_of(set_debug_file), "NCCL_DEBUG") == "INFO");
  CHECK(job.findings(set_debug_file).empty());
  job.environment = {{"NCCL_DEBUG", "TRACE"}};
  CHECK(value_of(job.plan_of(set_debug_file), "NCCL_DEBUG") == "TRACE");
  CHECK(job.findings(set_debug_file) ==
        Lines{"advice: NCCL's messages go to '/log/0', by profile p; to have them in the job's output, "
              "--nccl-unset=NCCL_DEBUG_FILE"});
  Job site;
  site.profile.debug_file = "/log/%r";
  site.site("NCCL_DEBUG=INFO\n");
  CHECK(value_of(site.plan_of(set_debug_file), "NCCL_DEBUG") == "INFO");
  CHECK(site.findings(set_debug_file).empty());
}

TEST_CASE("who names a debug file, or wants none, is left alone", "[plan][debug-file]") {
  Job job;
  job.profile.debug_file = "/log/%r";
  job.environment = {{"NCCL_DEBUG_FILE", "/mine"}};
  CHECK(value_of(job.plan_of(set_debug_file), "NCCL_DEBUG_FILE") == "/mine");
  CHECK(value_of(job.plan_of(set_debug_file), "NCCL_DEBUG") == "none");
  job.environment.clear();
  job.options.unset = {"NCCL_DEBUG_FILE"};
  CHECK(value_of(job.plan_of(set_debug_file), "NCCL_DEBUG_FILE") == "none");
  CHECK(value_of(job.plan_of(set_debug_file), "NCCL_DEBUG") == "none");
}

TEST_CASE("nothing but Slurm's numbers gets into the path of a debug file", "[plan][debug-file]") {
  Job job;
  job.profile.debug_file = "/log/%j.%s.%r";
  job.step.job = "../../etc/1%h2";
  job.step.step = "";
  CHECK(value_of(job.plan_of(set_debug_file), "NCCL_DEBUG_FILE") == "/log/12..0");
  job.profile.debug_file = "/" + std::string(990, 'x') + "%j%r";
  job.step.job = "12345678";
  CHECK(value_of(job.plan_of(set_debug_file), "NCCL_DEBUG_FILE") == "none");
  CHECK(
      job.findings(set_debug_file) ==
      Lines{
          "advice: profile p: debug-file becomes longer than 999 bytes; have the administrator shorten it"});
}
