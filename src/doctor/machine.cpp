#include "doctor/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/subprocess.h"
#include "core/text.h"

namespace lockstep::doctor {

namespace fs = std::filesystem;

std::string first_line(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return std::string(trim(line));
}

std::set<int> own_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::set<int> cores;
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.insert(core);
  }
  return cores;
}

std::string to_list(const std::set<int>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int first = *at;
    int last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    text += text.empty() ? "" : ",";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

std::set<int> from_list(std::string_view text) {
  std::set<int> numbers;
  for (const std::string& part : split(text, ',')) {
    const auto dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_int(part.substr(dash + 1));
    for (auto number = first.value_or(0); first && last && number <= *last; ++number) {
      numbers.insert(static_cast<int>(number));
    }
  }
  return numbers;
}

// The group itself and those above it may have a limit; a file that is not there is no limit, and so is "max"
// and, in version 1, a number near 2^63.
std::optional<std::int64_t> memory_limit() {
  constexpr std::int64_t no_limit = std::int64_t{1} << 60;
  std::optional<std::int64_t> least;
  const auto consider = [&](const fs::path& root, fs::path group, const char* file) {
    for (;; group = group.parent_path()) {
      const auto value = parse_int(first_line((root / group.relative_path() / file).string()));
      if (value && *value < no_limit) least = std::min(least.value_or(*value), *value);
      if (group == group.parent_path()) return;
    }
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto second = line.find(':', line.find(':') + 1);
    if (second == std::string::npos) continue;
    const std::string group = line.substr(second + 1);
    if (line.starts_with("0::")) consider("/sys/fs/cgroup", group, "memory.max");
    if (line.find(":memory:") != std::string::npos) {
      consider("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    }
  }
  return least;
}

Memory machine_memory() {
  Memory memory;
  std::ifstream stream("/proc/meminfo");
  std::string name, unit;
  for (std::int64_t kib = 0; stream >> name >> kib; std::getline(stream, unit)) {
    if (name == "MemTotal:") memory.total = kib << 10;
    if (name == "MemAvailable:") memory.available = kib << 10;
  }
  return memory;
}

std::string machine_id() {
  return first_line("/proc/sys/kernel/random/boot_id");
}

std::string network_id() {
  std::error_code ignored;
  return machine_id() + " " + fs::read_symlink("/proc/self/ns/net", ignored).string();
}

std::vector<std::string> gpus() {
  std::vector<std::string> found;
  const CommandResult list = run_command({"nvidia-smi", "-L"}, std::chrono::seconds(5));
  if (list.ok()) {
    for (const std::string& line : split(list.output, '\n')) {
      if (line.starts_with("GPU ")) found.push_back(line);
    }
    return found;
  }
  std::error_code ignored;
  for (const fs::directory_entry& device : fs::directory_iterator("/sys/bus/pci/devices", ignored)) {
    const std::string kind = first_line(device.path() / "class");
    const std::string vendor = first_line(device.path() / "vendor");
    if ((kind.starts_with("0x0300") || kind.starts_with("0x0302")) &&
        (vendor == "0x10de" || vendor == "0x1002")) {
      found.push_back(
          fmt::format("{} at {}", vendor == "0x10de" ? "NVIDIA" : "AMD", device.path().filename().string()));
    }
  }
  return found;
}

}  // namespace lockstep::doctor
