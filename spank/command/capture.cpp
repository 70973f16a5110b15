// nccl-setup capture: the small files that a node's explanation needs, in one tar.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <system_error>

#include "command/captured_tree.h"
#include "command/command.h"
#include "command/example_step.h"
#include "command/node.h"
#include "command/site_file.h"
#include "command/without_mac.h"
#include "core/error.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "machine/node_facts.h"
#include "site/bounded_file.h"

namespace lockstep::spank {

namespace fs = std::filesystem;

namespace {

constexpr std::array options = {
    Option{"-o", "FILE.tar", "where to write it; default: nccl-setup-NODE.tar"},
    Option{"--root", "DIR|FILE.tar", "a captured node instead of this one"},
    Option{"--node", "NAME", "the node's name, if Slurm has another than the system"},
    Option{"--config", "FILE", "the site's file; default: /etc/slurm/nccl-setup.conf where there is one"},
};

constexpr std::size_t longest_file = 1 << 20;
constexpr std::chrono::seconds pack_limit{60};

void take(Reading reading, CapturedTree& tree) {
  if (reading.path.find("/gids/") != std::string::npos) {
    reading.text = without_mac(std::string(trim(reading.text))) + "\n";
  }
  tree.add(reading);
}

void take_facts(const Node& node, CapturedTree& tree) {
  NodeFacts facts = node.root.captured() ? read_node_facts(node.root.path()) : live_node_facts();
  facts.node = node.name;
  for (auto& [interface, address] : facts.addresses) address.text = without_mac(address.text);
  tree.add_file(node_facts_file, write_node_facts(facts));
}

void take_configuration(const Arguments& arguments, const NodeRoot& root, CapturedTree& tree) {
  const auto take_from = [&](const fs::path& path, const std::string& name) {
    const BoundedFile read = read_bounded(path, longest_file);
    if (read.problem.empty()) tree.add_file(fs::path(name).relative_path().string(), read.text);
  };
  if (const auto conf = root.find("/etc/nccl.conf")) take_from(*conf, "/etc/nccl.conf");
  if (const auto given = arguments.value("--config")) {
    read_site_file(*given, *given);  // a wrong one is refused here, not by whoever gets the capture
    take_from(*given, default_site_file);
  } else if (const auto site = root.find(default_site_file)) {
    take_from(*site, default_site_file);
  }
}

// In plainer words than tar's.
void refuse_impossible(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot write {}: {}; name another file with -o", file.string(), why));
  };
  std::error_code error;
  if (fs::is_directory(file, error)) refuse("it is a folder");
  if (!fs::is_directory(folder, error)) refuse(fmt::format("there is no folder {}", folder.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    refuse(fmt::format("you may not write into the folder {}", folder.string()));
  }
}

// Whole or not at all.
void pack(const fs::path& tree, const fs::path& file) {
  refuse_impossible(file);
  fs::path temporary = file;
  temporary += fmt::format(".tmp.{}", ::getpid());
  const CommandResult result =
      run_command({"tar", "--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--file",
                   temporary.string(), "--directory", tree.string(), "."},
                  pack_limit);
  try {
    if (result.exit_code == 127)
      throw Error(ExitCode::missing_input, "the program tar is missing: install it");
    if (!result.ok()) {
      throw Error(
          ExitCode::cannot_create,
          fmt::format("cannot write {}: {}; is the disk full? name another file with -o", file.string(),
                      result.timed_out ? "tar takes more than 60 s"
                                       : result.output.substr(0, result.output.find('\n'))));
    }
    rename_durably(temporary, file);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
}

int run(const Arguments& arguments) {
  arguments.refuse_plain();
  arguments.refuse_command();
  const TemporaryFolder folder;
  NodeRoot root(arguments.value("--root"));
  CapturedTree tree(root.path(), folder.path());
  make_folders(folder.path() / "sys");
  const Node node = look_at_node(std::move(root), arguments.value("--node"), own_environment(),
                                 [&](const Reading& reading) { take(reading, tree); });
  take_facts(node, tree);
  take_configuration(arguments, node.root, tree);
  const std::string file = arguments.value("-o").value_or(fmt::format("nccl-setup-{}.tar", node.name));
  pack(folder.path(), file);
  fmt::print("{}: {} ({}); nccl-setup explain --root {} shows what it gives\n", file, node.name,
             hardware_of(node.machine), file);
  return 0;
}

}  // namespace

Command capture_command() {
  return {"capture",
          "[-o FILE.tar] [--root DIR|FILE.tar] [--node NAME] [--config FILE]",
          "pack what a node's explanation needs into a tar, for a bug report",
          "Takes from sysfs and proc what `explain` reads, addresses of interfaces, /etc/nccl.conf and the\n"
          "site's file. MAC addresses, GUIDs, serial numbers and the environment stay here; a name such as\n"
          "enx0123456789ab, which holds a MAC address, does not. Look into it: tar -tf FILE.tar\n",
          options,
          run};
}

}  // namespace lockstep::spank
