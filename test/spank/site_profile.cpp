// The site's file: what it says, and what is said about each kind of mistake.
#include "site/profile.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "../unit/temp_folder.h"
#include "core/hash.h"

using namespace lockstep::spank;

namespace {

Profile profile_of(const std::string& lines) {
  const SiteConfig config = parse_site_config("[profile a]\n" + lines, "site.conf");
  REQUIRE(config.profiles.size() == 1);
  return config.profiles.front();
}

// What is said about a whole file.
std::string fault_of_file(std::string_view text) {
  try {
    (void)parse_site_config(text, "site.conf");
  } catch (const SiteConfigError& error) {
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return "no error";
}

// What is said about one line of a profile, without file and line.
std::string fault_of(const std::string& line) {
  const std::string fault = fault_of_file("[profile a]\n" + line + "\n");
  const std::string place = "site.conf:2: ";
  return fault.starts_with(place) ? fault.substr(place.size()) : fault;
}

std::string read_fault(const std::filesystem::path& path, unsigned owner = ::getuid()) {
  try {
    (void)read_site_config(path, owner);
  } catch (const SiteConfigError& error) {
    const std::string text = error.what();
    REQUIRE(text.starts_with(path.string()));
    return text.substr(path.string().size());
  }
  return "no error";
}

PciDevice device(const std::string& vendor, const std::string& id) {
  PciDevice result;
  result.vendor = vendor;
  result.device = id;
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("an empty file and one of comments have no profiles", "[site][profile]") {
  CHECK(parse_site_config("", "f").profiles.empty());
  CHECK(parse_site_config("# a\n  ; b\n\n", "f").profiles.empty());
  CHECK(parse_site_config("# a\n", "f").hash == lockstep::hash64(std::string_view("# a\n")));
}

TEST_CASE("a profile without keys has the defaults", "[site][profile]") {
  const Profile profile = profile_of("");
  CHECK(profile.name == "a");
  CHECK(profile.file == "site.conf");
  CHECK(profile.line == 1);
  CHECK(profile.address == "%h");
  CHECK(profile.port_first == 20000);
  CHECK(profile.port_last == 31999);
  CHECK(profile.hca_rule == Profile::HcaRule::automatic);
  CHECK(profile.gid_rule == Profile::GidRule::leave);
  CHECK_FALSE(profile.mode);
  CHECK_FALSE(profile.torch);
}

TEST_CASE("every key is read", "[site][profile]") {
  const Profile profile = profile_of(
      "match = node:gpu-[0-9]*  pci:10DE:2330\r\n"
      "match=product:Virtual?Machine node:a*\n"
      "\tinterfaces\t= ib*\teth0 !docker* ![ab]x\n"
      "hca = mlx5_0 mlx5_1:1\n"
      "gid-index = 3\n"
      "topology = /opt/x/to po.xml\n"
      "address = %s.ib.example.org\n"
      "ports = 1024 - 65535\n"
      "mode = strict\n"
      "torch = off\n"
      "debug-file = /scratch/%j.%r.%%\n"
      "NCCL_NET = AWS Libfabric\n"
      "FI_X1_=a=b#c;d\n");
  CHECK(profile.nodes == Names{"gpu-[0-9]*", "a*"});
  CHECK(profile.pci == Names{"10de:2330"});
  CHECK(profile.products == Names{"Virtual?Machine"});
  CHECK(profile.interfaces == Names{"ib*", "eth0"});
  CHECK(profile.excluded_interfaces == Names{"docker*", "[ab]x"});
  CHECK(profile.hca_rule == Profile::HcaRule::listed);
  CHECK(profile.hcas == Names{"mlx5_0", "mlx5_1:1"});
  CHECK(profile.gid_rule == Profile::GidRule::fixed);
  CHECK(profile.gid_index == 3);
  CHECK(profile.topology == "/opt/x/to po.xml");
  CHECK(profile.address == "%s.ib.example.org");
  CHECK(profile.port_first == 1024);
  CHECK(profile.port_last == 65535);
  CHECK(profile.mode == Mode::strict);
  CHECK(profile.torch == TorchMode::off);
  CHECK(profile.debug_file == "/scratch/%j.%r.%%");
  REQUIRE(profile.constants.size() == 2);
  CHECK(profile.constants[0].variable == "NCCL_NET");
  CHECK(profile.constants[0].value == "AWS Libfabric");
  CHECK(profile.constants[0].line == 13);
  CHECK(profile.constants[1].value == "a=b#c;d");
}

TEST_CASE("the words of hca, gid-index and topology are read", "[site][profile]") {
  CHECK(profile_of("hca = auto").hca_rule == Profile::HcaRule::automatic);
  CHECK(profile_of("hca = none").hca_rule == Profile::HcaRule::none);
  CHECK(profile_of("hca = min-rate 200").hca_rule == Profile::HcaRule::automatic);
  CHECK(profile_of("hca = min-rate 200").hca_min_rate_gbps == 200);
  CHECK(profile_of("gid-index = auto").gid_rule == Profile::GidRule::automatic);
  CHECK(profile_of("gid-index = leave").gid_rule == Profile::GidRule::leave);
  CHECK(profile_of("topology = none").topology.empty());
  CHECK(profile_of("topology = generate").topology == "generate");
}

TEST_CASE("a mistake is told with file, line and what to write", "[site][profile]") {
  CHECK(fault_of_file("# x\n\n[profile a]\nmode = on\n") ==
        "site.conf:4: mode: 'on' is none of auto, off, show, warn, strict");
  CHECK(fault_of("torch = yes") == "torch: 'yes' is none of auto, on, off");
  CHECK(fault_of("interface = ib0") == "unknown key 'interface' (did you mean 'interfaces'?)");
  CHECK(fault_of("gid_index = 3") == "unknown key 'gid_index'; write 'gid-index'");
  CHECK(fault_of("MODE = auto") == "unknown key 'MODE'; write 'mode'");
  CHECK(fault_of("DEBUG_FILE = /x.%r") == "unknown key 'DEBUG_FILE'; write 'debug-file'");
  CHECK(fault_of("nccl_ib_tc = 3") == "unknown key 'nccl_ib_tc'; write 'NCCL_IB_TC'");
  CHECK(fault_of("export NCCL_IB_TC = 3").starts_with("unknown key 'export NCCL_IB_TC'; keys are match, "));
  CHECK(fault_of("CRAYFISH = 3").starts_with("unknown key 'CRAYFISH'"));
  CHECK(fault_of("mode auto") == "'mode auto' is neither [profile NAME] nor KEY = VALUE");
  CHECK(fault_of("= auto") == "'= auto' is neither [profile NAME] nor KEY = VALUE");
  CHECK(fault_of("mode =") == "mode has no value; write one, or leave the line out");
  CHECK(fault_of("NCCL_IB_TC =") == "NCCL_IB_TC has no value; write one, or leave the line out");
  CHECK(fault_of("mode = auto # as before") ==
        "there is a comment behind the value of mode; give it a line of its own");
  CHECK(fault_of("NCCL_NET = OFI ;x") ==
        "there is a comment behind the value of NCCL_NET; give it a line of its own");
  CHECK(fault_of("NCCL_NET = \"AWS Libfabric\"") ==
        "the value of NCCL_NET would keep its quotes; write it without");
}

TEST_CASE("sections are profiles of different names, each within reach", "[site][profile]") {
  CHECK(fault_of_file("mode = auto\n") ==
        "site.conf:1: 'mode' stands before the first profile; begin with [profile NAME]");
  for (const char* line : {"[a]", "[profile]", "[profile ]", "[profile a b]", "[profile a", "[profile a] x",
                           "[profiles a]", "[Profile a]", "[", "[]"}) {
    CAPTURE(line);
    CHECK(fault_of_file(line) == "site.conf:1: '" + std::string(line) +
                                     "' begins no profile; write [profile NAME], the name of letters, digits "
                                     "and -_.");
  }
  CHECK(fault_of_file("[profile a]\nmatch = node:a\n[profile b]\nmatch = node:b\n[profile a]\n") ==
        "site.conf:5: there is a profile 'a' in line 1 already; give it another name");
  CHECK(fault_of_file("[profile a]\nmode = auto\n[profile b]\n") ==
        "site.conf:3: profile 'b' is never used, because 'a' in line 1 has no 'match' and takes every node; "
        "give "
        "that one a match, or move it to the end");
}

TEST_CASE("a key stands once in a profile, match as often as wanted", "[site][profile]") {
  CHECK(fault_of_file("[profile a]\nmode = auto\n\nmode = auto\n") ==
        "site.conf:4: mode is in line 2 already; remove one of the two");
  CHECK(fault_of_file("[profile a]\nNCCL_IB_TC = 1\nNCCL_IB_TC = 2\n") ==
        "site.conf:3: NCCL_IB_TC is in line 2 already; remove one of the two");
  CHECK(fault_of_file("[profile a]\nmatch = node:a\nmode = auto\n[profile b]\nmode = auto\n") == "no error");
}

TEST_CASE("all mistakes of a line are told", "[site][profile]") {
  CHECK(fault_of("hca = mlx5_0,mlx5_1 =mlx5_2 mlx5_3:0 mlx5_4 mlx5_4") ==
        "hca: 'mlx5_0,mlx5_1' has a comma; separate names by blanks; also: '=mlx5_2' is no HCA; write its "
        "name, or "
        "name and port as mlx5_0:1, without = or ^; also: 'mlx5_3:0' is no HCA; write its name, or name and "
        "port as "
        "mlx5_0:1, without = or ^; also: mlx5_4 is listed twice");
  CHECK(fault_of("match = gpu1 node:[a pci:2330 pci:0x10de:0x2330 node:ok") ==
        "match: 'gpu1' is none of node:GLOB, pci:VENDOR:DEVICE, product:GLOB; for a blank in a name write ?; "
        "also: "
        "'node:[a' is no pattern; write text with *, ? and [a-z]; also: 'pci:2330' is no vendor and device; "
        "write "
        "them as lspci -n does, pci:10de:2330; also: 'pci:0x10de:0x2330' is no vendor and device; write them "
        "as "
        "lspci -n does, pci:10de:2330");
  CHECK(fault_of("interfaces = ib0,ib1 !") ==
        "interfaces: 'ib0,ib1' has a comma; separate names by blanks; also: '!' is no pattern of interface "
        "names; "
        "write ib*, or !docker* to exclude");
}

TEST_CASE("values out of range or of another type are refused", "[site][profile]") {
  const std::string ports =
      " is no range of at least 1000 ports within 1024 to 65535; write ports = 20000-31999";
  for (const char* value :
       {"20000", "20000-20998", "1023-9000", "60000-65536", "9000-2000", "a-b", "-", "1-2-3"}) {
    CHECK(fault_of(std::string("ports = ") + value) == "ports: '" + std::string(value) + "'" + ports);
  }
  CHECK(fault_of("ports = 20000-20999") == "no error");
  for (const char* value : {"min-rate", "min-rate x", "min-rate 0", "min-rate 200 400"}) {
    CHECK(fault_of(std::string("hca = ") + value) ==
          "hca: min-rate takes one whole number of Gb/s; write hca = min-rate 200");
  }
  CHECK(fault_of("hca = auto mlx5_0") == "hca: auto stands alone, not in a list of HCAs");
  CHECK(fault_of("gid-index = 256") == "gid-index: '256' is none of leave, auto, and a number from 0 to 255");
  CHECK(fault_of("topology = topo.xml") ==
        "topology: 'topo.xml' is no absolute path of at most 999 printable characters, nor none or generate");
  for (const char* value : {"head", "%h %s", "%", "%x", "%h%", "a%%"}) {
    CHECK(fault_of(std::string("address = ") + value)
              .starts_with("address: '" + std::string(value) + "' is no pattern of host names; write %h"));
  }
  CHECK(fault_of("debug-file = nccl.%r").starts_with("debug-file: 'nccl.%r' is no absolute path"));
  CHECK(
      fault_of("debug-file = /nccl.%x.%r").starts_with("debug-file: '/nccl.%x.%r' has a % that stands for"));
  CHECK(fault_of("debug-file = /nccl.%r%").starts_with("debug-file: '/nccl.%r%' has a % that stands for"));
  CHECK(fault_of("debug-file = /nccl.%j.%%p").starts_with("debug-file: '/nccl.%j.%%p' is the same for all"));
}

TEST_CASE("other encodings and control characters are named", "[site][profile]") {
  const std::string end = "; save it as plain text without one";
  CHECK(fault_of_file("\xEF\xBB\xBF[profile a]\n") ==
        "site.conf:1: the file begins with the byte order mark of UTF-8" + end);
  CHECK(fault_of_file(std::string_view("\xFF\xFE[\0", 4)) ==
        "site.conf:1: the file begins with the byte order mark of UTF-16" + end);
  CHECK(fault_of("mode = au\x01to") == "there is a control character (byte 0x01); remove it");
  CHECK(fault_of(std::string("mode = auto\0", 12)) == "there is a control character (byte 0x00); remove it");
  CHECK(fault_of("NCCL_NET = b\xC3\xBC") == "NCCL_NET is 'b\\xc3\\xbc'; write printable ASCII");
  CHECK(fault_of("NCCL_NET = a\tb") == "NCCL_NET is 'a\\x09b'; write printable ASCII");
  CHECK(fault_of("# b\xC3\xBC\x01") == "no error");
}

TEST_CASE("a constant is at most 999 bytes long", "[site][profile]") {
  CHECK(fault_of("NCCL_NET = " + std::string(999, 'x')) == "no error");
  CHECK(fault_of("NCCL_NET = " + std::string(1000, 'x')) ==
        "the value of NCCL_NET has 1000 bytes; at most 999 are safe");
  CHECK(fault_of("NCCL_NET = " + std::string(5000, 'x')) == "the line has more than 4096 bytes; shorten it");
  CHECK(fault_of("# " + std::string(5000, 'x')) == "no error");
}

TEST_CASE("however long a mistake is, the message is not", "[site][profile]") {
  CHECK(fault_of(std::string(4000, 'x') + " = 1").size() < 400);
  CHECK(fault_of("LD_" + std::string(4000, 'X') + " = 1").size() < 400);
  std::string words;
  for (int i = 0; i < 1000; ++i) words += " x";
  const std::string fault = fault_of("match =" + words);
  CHECK(fault.size() < 600);
  CHECK(fault.ends_with("; and 996 more"));
}

TEST_CASE("variables that are not for profiles are refused with what to write instead", "[site][profile]") {
  CHECK(fault_of("NCCL_SOCKET_IFNAME = ib0") ==
        "NCCL_SOCKET_IFNAME is chosen on the node; write 'interfaces = NAME...'");
  CHECK(fault_of("NCCL_GRAPH_FILE = /x") ==
        "NCCL_GRAPH_FILE is not for production, by NCCL's makers; leave it out");
  CHECK(fault_of("NCCL_CONF_FILE = /x") ==
        "NCCL_CONF_FILE would replace every user's ~/.nccl.conf; write the variables here");
  CHECK(fault_of("RANK = 1") == "RANK is different for every task; write 'torch = auto' or 'torch = on'");
  for (const char* name :
       {"PATH", "HOME", "IFS", "ENV", "BASH_ENV", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH",
        "SLURM_JOB_ID", "LOCKSTEP_NCCL", "CUDA_VISIBLE_DEVICES", "MASTER_ADDR", "MASTER_PORT", "NCCL_IB_HCA",
        "NCCL_TOPO_FILE", "NCCL_IB_GID_INDEX", "NCCL_DEBUG_FILE"}) {
    CAPTURE(name);
    const std::string fault = fault_of(std::string(name) + " = 1");
    CHECK(fault.starts_with(std::string(name) + " "));
    CHECK(fault.find("; ") != std::string::npos);
  }
}

TEST_CASE("the file must be a small plain one that its owner alone can write", "[site][profile]") {
  const TempFolder folder;
  const auto path = folder / "site.conf";
  CHECK(read_fault(path) == ": there is no such file; create it, or remove it from plugstack.conf");
  CHECK(read_fault(folder.path()) == ": is a folder; a readable plain file is needed");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(read_fault(folder / "pipe") == ": is a pipe; a readable plain file is needed");

  std::ofstream(path) << "[profile a]\n";
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  CHECK(read_site_config(path, ::getuid()).profiles.size() == 1);
  CHECK(read_fault(path, ::getuid() + 1).starts_with(": belongs to user "));
  for (const mode_t mode : {0664, 0646}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK(read_fault(path).starts_with(": others than its owner may write it (mode 06"));
  }
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  std::ofstream(path) << "[profile a]\nx\n";
  CHECK(read_fault(path).starts_with(":2: 'x' is neither"));
  std::ofstream(path) << "#" << std::string(1 << 20, 'x');
  CHECK(read_fault(path) == ": is larger than 1048576 bytes; a readable plain file is needed");
}

TEST_CASE("while devices are not known, no profile is chosen that another could come before",
          "[site][profile]") {
  const SiteConfig config = parse_site_config(
      "[profile off]\nmatch = node:gpu* pci:10de:*\nmode = off\n[profile rest]\nNCCL_IB_TIMEOUT = 22\n", "f");
  Machine machine;
  CHECK(choose_profile(config, "gpu1", machine).name == "rest");
  machine.complete = false;
  CHECK(choose_profile(config, "gpu1", machine).name == "built-in");
  CHECK(choose_profile(config, "cpu1", machine).name == "rest");
  PciDevice gpu;
  gpu.vendor = "0x10de";
  gpu.device = "0x2330";
  machine.devices.push_back(gpu);
  CHECK(choose_profile(config, "gpu1", machine).name == "off");
}

TEST_CASE("the first profile whose kinds all match is chosen", "[site][profile]") {
  const SiteConfig config = parse_site_config(
      "[profile both]\nmatch = node:gpu-* pci:10de:2330\n"
      "[profile device]\nmatch = pci:10de:23* pci:1d0f:efa*\n"
      "[profile product]\nmatch = product:Virtual?Machine\n"
      "[profile node]\nmatch = node:a node:b\n",
      "f");
  const auto chosen = [&](const std::string& node, const Machine& machine) {
    return choose_profile(config, node, machine).name;
  };
  Machine h100;
  h100.devices = {device("0x15b3", "0x1021"), device("0x10de", "0x2330")};
  CHECK(chosen("gpu-1", h100) == "both");
  CHECK(chosen("cpu-1", h100) == "device");
  Machine efa;
  efa.devices = {device("0x1d0f", "0xefa1")};
  CHECK(chosen("gpu-1", efa) == "device");
  Machine vm;
  vm.product = "Virtual Machine\n";
  CHECK(chosen("b", vm) == "product");
  CHECK(chosen("b", {}) == "node");
  CHECK(chosen("c", {}) == "built-in");
  CHECK(choose_profile(config, "c", {}).constants.empty());
  CHECK(choose_profile(parse_site_config("[profile all]\n", "f"), "c", {}).name == "all");
}
