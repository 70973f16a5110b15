#include <catch2/catch.hpp>
#include <filesystem>

#include "topology/nccl_xml.h"
#include "topology/topology_path.h"

using namespace lockstep::spank;
using Verdict = TopologyFile::Verdict;

namespace {

const std::string cpu = R"(<cpu numaid="0"><pci busid="0000:01:00.0"/></cpu>)";

std::string in_system(const std::string& inner) {
  return "<system version=\"1\">" + inner + "</system>";
}

Verdict verdict(const std::string& text) {
  return parse_topology(text).verdict;
}

std::string reason(const std::string& text) {
  return parse_topology(text).reason;
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("a topology file is loaded with its elements, attributes and lines", "[topology]") {
  const auto file = parse_topology(
      "<system version=\"1\">\n  <cpu numaid=\"1\" arch='x86_64'>\n"
      "    <pci busid=\"0000:17:00.0\" class=\"0x030200\"/>\n    <nic><net name=\"eth0\"/></nic>\n"
      "  </cpu>\n</system>\n");
  REQUIRE(file.verdict == Verdict::loaded);
  CHECK(file.reason.empty());
  REQUIRE(file.system->children.size() == 1);
  const XmlNode& node = file.system->children[0];
  CHECK(node.line == 2);
  CHECK(*node.attribute("numaid") == "1");
  CHECK(*node.attribute("arch") == "x86_64");
  CHECK(node.attribute("affinity") == nullptr);
  REQUIRE(node.children.size() == 2);
  CHECK(*node.children[0].attribute("class") == "0x030200");
  CHECK(node.children[1].children.at(0).name == "net");
}

TEST_CASE("what NCCL's parser takes is loaded", "[topology]") {
  const auto text = GENERATE_COPY(values<std::string>({
      in_system("\r\n  " + cpu + "\r\n") + "\r\n",
      "<!-- a comment -->\n" + in_system(cpu),
      in_system("<!---->" + cpu + "<!-- </system> -- > -->"),
      in_system("<cpu  numaid=\"0\"  arch=\"x86_64\"/>"),
      in_system("<cpu numaid=\"0\" />"),
      in_system("<cpu numaid=\"0\" note/>"),
      "<system version=\"1 and more\">" + cpu + "</system>",
      "<system version=\"0x1\">" + cpu + "</system>",
      in_system(cpu) + "<later/>",
  }));
  CAPTURE(text, reason(text));
  CHECK(verdict(text) == Verdict::loaded);
}

TEST_CASE("what NCCL's parser passes over in silence is ignored, with the reason", "[topology]") {
  CHECK(reason("") == "no <system> in it");
  CHECK(reason(" \n<!-- nothing -->\n") == "no <system> in it");
  CHECK(reason("<graphs version=\"1\"><graph id=\"0\"></graph></graphs>") ==
        "no <system> in it; <graphs> in line 1 is passed over");
  CHECK(reason("\n<topology version=\"2.0\"><object type=\"Machine\"/></topology>") ==
        "no <system> in it; <topology> in line 2 is passed over");
  CHECK(reason(in_system("\n<pci busid=\"0000:01:00.0\"/>")) ==
        "line 1: no <cpu> in <system>; <pci> in line 2 is passed over");
  CHECK(verdict("") == Verdict::ignored);
  CHECK(verdict("<graphs version=\"1\"/>") == Verdict::ignored);
  CHECK(verdict(in_system("<pci busid=\"0000:01:00.0\"/>")) == Verdict::ignored);
}

TEST_CASE("what makes NCCL's parser give up is fatal, with line and reason", "[topology]") {
  struct Case {
    std::string text;
    std::string reason;
  };
  const auto example = GENERATE_COPY(values<Case>({
      {"<?xml version=\"1.0\"?>\n" + in_system(cpu), "line 1: an XML prolog"},
      {"<system version=\"1\">\n\t" + cpu + "</system>", "line 2: a tab where a tag must begin"},
      {in_system("<cpu numaid=\"0\"\n arch=\"x86_64\"/>"), "line 2: a line break in <cpu>"},
      {in_system("<cpu\tnumaid=\"0\"/>"), "'=' in the name of a tag"},
      {"<system>" + cpu + "</system>", "<system> has no version"},
      {"<system version=\"2\">" + cpu + "</system>", "version \"2\""},
      {"<system version=\"1\">\n" + cpu, "<system> of line 1 is not closed"},
      {"<system version=\"1\">\n<cpu numaid=\"0\">\n</system>", "line 3: </system> closes <cpu> of line 2"},
      {"</system>" + in_system(cpu), "</system> without <system>"},
      {"{ \"system\": 1 }", "line 1: '{' where a tag must begin"},
      {"\xef\xbb\xbf" + in_system(cpu), "the byte 0xef"},
      {in_system("<cpu numaid=0/>"), "a value that is not in quotes"},
      {in_system("<!--a=b-->" + cpu), "first word of a comment"},
      {in_system(cpu) + "<!-- open", "ends inside a comment"},
      {in_system("<cpu numaid=\"0"), "ends inside a tag"},
      {in_system("<cpu numaid=\"0\"></cpu >"), "more than a name in </cpu>"},
      {in_system("<other><x>" + cpu), "<other> of line 1 is not closed"},
      {in_system("<cpu arch=\"x86_64\"/>"), "line 1: <cpu> has no numaid"},
      {in_system("<cpu numaid=\"0\">\n<pci class=\"0x0604\"><pci busid=\"a\"/></pci></cpu>"),
       "line 2: <pci> has no busid"},
  }));
  CAPTURE(example.text);
  CHECK(verdict(example.text) == Verdict::fatal);
  CHECK_THAT(reason(example.text), Catch::Contains(example.reason));
}

TEST_CASE("the limits of NCCL's parser are kept to the character", "[topology]") {
  const auto with_value = [](int length) {
    return in_system("<cpu numaid=\"0\" arch=\"" + std::string(length, 'a') + "\"/>");
  };
  CHECK(verdict(with_value(253)) == Verdict::loaded);
  CHECK(verdict(with_value(254)) == Verdict::fatal);
  CHECK(verdict(in_system(cpu + "<" + std::string(253, 'n') + "/>")) == Verdict::loaded);
  CHECK(verdict(in_system(cpu + "<" + std::string(254, 'n') + "/>")) == Verdict::fatal);
  const auto with_key = [](int length) {
    return in_system("<cpu numaid=\"0\" " + std::string(length, 'k') + "=\"\"/>");
  };
  CHECK(verdict(with_key(254)) == Verdict::loaded);
  CHECK(verdict(with_key(255)) == Verdict::fatal);
  // 255 elements, <system> and <cpu> among them
  const auto with_elements = [](int count) {
    return in_system("<cpu numaid=\"0\">" + repeated("<pci busid=\"a\"/>", count - 2) + "</cpu>");
  };
  CHECK(verdict(with_elements(255)) == Verdict::loaded);
  CHECK(verdict(with_elements(256)) == Verdict::fatal);
}

TEST_CASE("attributes past the sixteenth are dropped, two blanks count as one", "[topology]") {
  const auto late = [](int before) { return "<system" + repeated(" a=\"\"", before) + " version=\"1\">"; };
  CHECK(verdict(late(15) + cpu + "</system>") == Verdict::loaded);
  CHECK(verdict(late(16) + cpu + "</system>") == Verdict::fatal);
  CHECK(verdict("<system" + std::string(16, ' ') + "version=\"1\">" + cpu + "</system>") == Verdict::loaded);
  CHECK(verdict("<system" + std::string(17, ' ') + "version=\"1\">" + cpu + "</system>") == Verdict::fatal);
}

TEST_CASE("inside an unknown element tags are counted, not compared", "[topology]") {
  CHECK(verdict(in_system(cpu + "<other><a></b></c>")) == Verdict::loaded);
  CHECK(verdict(in_system(cpu + "<other><a></b>")) == Verdict::fatal);
}

TEST_CASE("a deep or large file neither recurses without end nor is read for long", "[topology]") {
  const std::string deep = repeated("<pci busid=\"a\">", 100000);
  CHECK(verdict(in_system("<cpu numaid=\"0\">" + deep)) == Verdict::fatal);
  CHECK(verdict(in_system(cpu + repeated("<x>", 100000) + repeated("</x>", 100000))) == Verdict::loaded);
  CHECK_THAT(reason(std::string(max_topology_bytes + 1, ' ')), Catch::Contains("4 MiB"));
}

TEST_CASE("no control character of a file comes into a message", "[topology]") {
  CHECK(reason("<\x1b[2J/>") == "no <system> in it; <?[2J> in line 1 is passed over");
}

namespace {

struct Counts {
  int gpus = 0;
  int networks = 0;
};

void count(const XmlNode& node, Counts& counts) {
  for (const XmlNode& child : node.children) {
    const std::string* device_class = child.attribute("class");
    if (child.name == "pci" && device_class != nullptr) {
      counts.gpus += device_class->starts_with("0x0302") ? 1 : 0;
      counts.networks += device_class->starts_with("0x02") ? 1 : 0;
    }
    count(child, counts);
  }
}

}  // namespace

TEST_CASE("each example file has the verdict that its name begins with", "[topology]") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("test/fixtures/topology")) {
    const std::string name = entry.path().filename().string();
    const TopologyFile file = read_topology(entry.path());
    CAPTURE(name, file.reason);
    const std::string found = file.verdict == Verdict::loaded    ? "loaded"
                              : file.verdict == Verdict::ignored ? "ignored"
                                                                 : "fatal";
    CHECK(name.substr(0, name.find('-')) == found);
    ++files;
  }
  CHECK(files >= 10);
}

TEST_CASE("published topology files are loaded with their GPUs and network devices", "[topology]") {
  struct Published {
    const char* file;
    int gpus;
    int networks;
  };
  const Published published = GENERATE(values<Published>({
      {"aws__aws-ofi-nccl__g5.48xl-topo.xml", 0, 0},  // gives no class
      {"aws__aws-ofi-nccl__p4d-24xl-topo.xml", 8, 4},
      {"azure__azhpc-images__ndv2-topo.xml", 8, 1},
      {"azure__azhpc-images__ndv4-topo.xml", 8, 8},
      {"azure__azurehpc__nc48v4-topo.xml", 2, 0},
      {"oci__oci-hpc__H100-topology.xml", 8, 8},
  }));
  const auto path = std::filesystem::path("../shared/fixtures/topo") / published.file;
  if (!std::filesystem::exists(path)) return;
  CAPTURE(path);
  const TopologyFile file = read_topology(path);
  CHECK(file.reason.empty());
  REQUIRE(file.verdict == Verdict::loaded);
  Counts counts;
  count(*file.system, counts);
  CHECK(counts.gpus == published.gpus);
  CHECK(counts.networks == published.networks);
}
