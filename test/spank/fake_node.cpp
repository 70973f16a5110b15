#include "fake_node.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <stdexcept>
#include <vector>

#include "../unit/temp_folder.h"
#include "core/files.h"
#include "core/text.h"

using lockstep::parse_int;
using lockstep::split;
using lockstep::trim;

namespace fs = std::filesystem;

namespace {

using Values = std::map<std::string, std::string>;

struct Line {
  std::string kind, name;
  Values values;
  std::string get(const std::string& key, const std::string& otherwise = "") const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : found->second;
  }
};

// Words apart by blanks; quotes hold a word together and are taken off.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool any = false;
  for (const char c : line) {
    if (c == '#' && !quoted) break;
    if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      if (any) words.push_back(std::move(word));
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (quoted) throw std::runtime_error("a quote is not closed");
  if (any) words.push_back(std::move(word));
  return words;
}

Line parse_line(const std::vector<std::string>& words) {
  if (words.size() == 3 && words[1] == "=") return {"=", words[0], {{"value", words[2]}}};
  Line line{words[0], "", {}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals == std::string::npos && i == 1) {
      line.name = words[i];
    } else if (equals == std::string::npos) {
      throw std::runtime_error("\"" + words[i] + "\" is no key=value");
    } else {
      line.values[words[i].substr(0, equals)] = words[i].substr(equals + 1);
    }
  }
  return line;
}

std::string hex_id(const std::string& text) {
  return text.starts_with("0x") ? text : "0x" + text;
}

// 64G -> bytes.
std::string bytes_of(std::string text) {
  constexpr std::string_view units = "KMGT";
  const auto unit = text.empty() ? std::string_view::npos : units.find(text.back());
  if (unit == std::string_view::npos) return text;
  text.pop_back();
  const auto number = parse_int(text);
  if (!number) throw std::runtime_error("\"" + text + "\" is no number");
  return std::to_string(*number << (10 * (unit + 1)));
}

class Writer {
 public:
  explicit Writer(const fs::path& root) : root_(root) {
    file("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999");
  }

  void add(const Line& line) {
    if (line.kind == "=") return setting(line.name, line.get("value"));
    if (line.kind == "cpu") return cpu(line);
    if (line.name.empty()) throw std::runtime_error("a name is missing");
    if (line.kind == "numa") return numa(line);
    if (line.kind == "gpu") {
      pci(line, line.name, {{"class", "0x030200"}, {"vendor", "10de"}, {"device", "2330"}});
      file("proc/driver/nvidia/gpus/" + line.name + "/information",
           "Model: NVIDIA\nBus Location: " + line.name);
    } else if (line.kind == "pci") {
      pci(line, line.name, {});
    } else if (line.kind == "nic" || line.kind == "virtual") {
      interface(line);
    } else if (line.kind == "hca") {
      hca(line);
    } else {
      throw std::runtime_error("\"" + line.kind + "\" is no kind of thing");
    }
  }

  void finish() const { std::ofstream(root_ / "lockstep-node") << facts_; }

 private:
  void file(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream out(root_ / path);
    out << text << '\n';
    if (!out.flush()) throw std::runtime_error("cannot write " + (root_ / path).string());
  }

  // As in sysfs: relative to the folder of the link.
  void link(const fs::path& path, const fs::path& target) const {
    fs::create_directories((root_ / path).parent_path());
    if (!fs::is_symlink(root_ / path))
      fs::create_symlink(target.lexically_relative(path.parent_path()), root_ / path);
  }

  void setting(const std::string& key, const std::string& value) {
    if (key == "product") {
      file("sys/devices/virtual/dmi/id/product_name", value);
      link("sys/class/dmi/id", "sys/devices/virtual/dmi/id");
    } else if (key == "driver") {
      file("proc/driver/nvidia/version",
           "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + value +
               "  Tue Mar  5 22:23:56 UTC 2024\nGCC version:  gcc version 11.4.0");
    } else if (key == "ports") {
      const auto dash = value.find('-');
      file("proc/sys/net/ipv4/ip_local_port_range", value.substr(0, dash) + "\t" + value.substr(dash + 1));
    } else if (key == "node") {
      facts_ += "node " + value + "\n";
    } else if (key == "shm" || key == "memlock") {
      facts_ += key + " " + bytes_of(value) + "\n";
    } else {
      throw std::runtime_error("\"" + key + "\" is no setting");
    }
  }

  void cpu(const Line& line) const {
    file("proc/cpuinfo",
         fmt::format("processor\t: 0\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\n"
                     "model name\t: invented\n\nprocessor\t: 1\nvendor_id\t: second",
                     line.get("vendor", "GenuineIntel"), line.get("family", "6"), line.get("model", "143")));
  }

  void numa(const Line& line) {
    const fs::path at = "sys/devices/system/node/node" + line.name;
    numa_cpus_[line.name] = line.get("cpus");
    file(at / "cpulist", line.get("cpus"));
    file(at / "cpumap", line.get("map"));
  }

  // The device's folder. Values of `line` win over `otherwise`; a file that is there is kept.
  fs::path pci(const Line& line, const std::string& busid, const Values& otherwise) {
    if (const auto known = folders_.find(busid); known != folders_.end()) return known->second;
    const std::vector<std::string> under = split(line.get("under"), ',');
    const std::string& first = under.empty() ? busid : under.front();
    fs::path at = "sys/devices/pci" + first.substr(0, first.rfind(':'));
    for (const std::string& bridge : under) {
      at /= bridge;
      device_files(at, bridge, {"pci", bridge, {{"numa", line.get("numa", "-1")}}},
                   {{"class", "0x060400"}, {"vendor", "1000"}, {"device", "c030"}});
    }
    at /= busid;
    device_files(at, busid, line, otherwise);
    return at;
  }

  void device_files(const fs::path& at, const std::string& busid, const Line& line, const Values& otherwise) {
    if (!folders_.emplace(busid, at).second) return;
    const auto value = [&](const std::string& key, const std::string& last) {
      const auto found = otherwise.find(key);
      return line.get(key, found == otherwise.end() ? last : found->second);
    };
    file(at / "class", value("class", "0x020000"));
    file(at / "vendor", hex_id(value("vendor", "8086")));
    file(at / "device", hex_id(value("device", "0000")));
    file(at / "subsystem_vendor", hex_id(value("subvendor", value("vendor", "8086"))));
    file(at / "subsystem_device", hex_id(value("subdevice", "0000")));
    file(at / "numa_node", value("numa", "-1"));
    file(at / "local_cpulist", value("cpus", numa_cpus_[value("numa", "-1")]));
    file(at / "max_link_speed", value("link", "32.0 GT/s PCIe"));
    file(at / "max_link_width", value("width", "16"));
    link(fs::path("sys/bus/pci/devices") / busid, at);
  }

  // A nic without `pci=` is on a bus without ids.
  fs::path device_of(const Line& line) {
    if (line.kind == "virtual") return "sys/devices/virtual";
    const std::string busid = line.get("pci");
    return busid.empty() ? fs::path("sys/devices/platform") / line.name
                         : pci(line, busid, {{"class", "0x020000"}});
  }

  // As the kernel does: only some kinds tell.
  static std::string device_type(const std::string& kind) {
    for (const std::string_view silent : {"", "dummy", "loopback", "tun"}) {
      if (kind == silent) return "";
    }
    return "\nDEVTYPE=" + kind;
  }

  void interface(const Line& line) {
    const std::string busid = line.get("pci");
    const fs::path device = device_of(line);
    const fs::path at = device / "net" / line.name;
    const std::string kind = line.get("kind");
    const std::string state = line.get("state", kind == "loopback" || kind == "tun" ? "unknown" : "up");
    const bool loopback = kind == "loopback";
    file(at / "flags", loopback ? "0x9" : "0x1003");
    file(at / "type", line.get("type", loopback ? "772" : kind == "tun" ? "65534" : "1"));
    file(at / "operstate", state);
    if (state != "down") file(at / "carrier", "1");
    file(at / "speed", line.get("speed", "-1"));
    file(at / "uevent", "INTERFACE=" + line.name + device_type(kind));
    if (kind == "bridge") file(at / "bridge/bridge_id", "8000.000000000000");
    if (kind == "bond") file(at / "bonding/mode", "802.3ad 4");
    if (kind == "tun") file(at / "tun_flags", "0x1");
    if (line.kind == "nic") link(at / "device", device);
    if (const auto master = line.get("master"); !master.empty()) {
      const fs::path above = fs::path("sys/devices/virtual/net") / master;
      link(at / "master", above);
      link(above / ("lower_" + line.name), at);
    }
    for (const std::string& lower : split(line.get("lower"), ',')) {
      const auto below = interfaces_.find(lower);
      if (below == interfaces_.end()) throw std::runtime_error("\"" + lower + "\" must come first");
      link(at / ("lower_" + lower), below->second);
    }
    interfaces_[line.name] = at;
    link(fs::path("sys/class/net") / line.name, at);
    for (const std::string& address : split(line.get("address"), ',')) {
      facts_ += "address " + line.name + " " + address + "\n";
    }
  }

  void hca(const Line& line) {
    const std::string layer = line.get("layer", "InfiniBand");
    const std::string busid = line.get("pci");
    const fs::path device = busid.empty() ? "sys/devices/virtual"
                                          : pci(line, busid,
                                                {{"class", layer == "InfiniBand" ? "0x020700" : "0x020000"},
                                                 {"vendor", "15b3"},
                                                 {"device", "1021"}});
    const fs::path at = device / "infiniband" / line.name;
    if (!busid.empty()) link(at / "device", device);
    if (const auto netdev = line.get("netdev"); !netdev.empty()) {
      fs::create_directories(root_ / device / "net" / netdev);
    }
    const std::string state = line.get("state", "ACTIVE");
    const fs::path port = at / "ports" / line.get("port", "1");
    file(port / "state", (state == "ACTIVE" ? "4: " : state == "DOWN" ? "1: " : "2: ") + state);
    file(port / "rate", line.get("rate", "400") + " Gb/sec (4X)");
    file(port / "link_layer", layer);
    for (const std::string& gid : split(line.get("gid"), ',')) gid_files(port, gid, line.get("netdev"));
    link(fs::path("sys/class/infiniband") / line.name, at);
  }

  void gid_files(const fs::path& port, const std::string& gid, const std::string& netdev) const {
    const auto parts = split(gid, '=');
    if (parts.size() < 2 || parts.size() > 3) throw std::runtime_error("\"" + gid + "\" is no gid");
    file(port / "gids" / parts[0], parts.back());
    file(port / "gid_attrs/types" / parts[0], parts.size() == 3 ? "IB/RoCE v1" : "RoCE v2");
    if (!netdev.empty()) file(port / "gid_attrs/ndevs" / parts[0], netdev);
  }

  fs::path root_;
  std::string facts_;
  std::map<std::string, fs::path> folders_;       // of PCI devices
  std::map<std::string, fs::path> interfaces_;    // folders
  std::map<std::string, std::string> numa_cpus_;  // by NUMA node
};

}  // namespace

void write_fake_node(std::string_view description, const fs::path& root) {
  fs::create_directories(root);
  Writer writer(root);
  int number = 0;
  for (const std::string& text : split(description, '\n')) {
    ++number;
    try {
      const auto words = words_of(trim(text));
      if (!words.empty()) writer.add(parse_line(words));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("line {}: {}", number, error.what()));
    }
  }
  writer.finish();
}

lockstep::spank::Machine fake_machine(std::string_view description) {
  const TempFolder folder;
  write_fake_node(description, folder.path());
  // Without the usual limit: a busy test machine shall not change what is found.
  lockstep::spank::MachineSource source;
  source.root = folder.path();
  source.limit = source.wall_limit = std::chrono::minutes(1);
  return lockstep::spank::read_machine(source);
}

lockstep::spank::Machine fixture_machine(const std::string& name) {
  const fs::path path = "test/fixtures/nodes/" + name + ".node";
  const auto text = lockstep::read_text(path);
  if (!text) throw std::runtime_error("no such file: " + path.string());
  return fake_machine(*text);
}
