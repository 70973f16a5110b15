// nccl-setup topo: the topology file that the plugin would write for a node.
#include <fmt/format.h>

#include <array>

#include "command/command.h"
#include "command/example_step.h"
#include "command/node.h"
#include "core/error.h"
#include "core/files.h"
#include "topology/generate.h"

namespace lockstep::spank {

namespace {

constexpr std::array options = {
    Option{"--root", "DIR|FILE.tar", "a captured node instead of this one"},
    Option{"-o", "FILE", "write it there instead of printing it"},
};

int run(const Arguments& arguments) {
  arguments.refuse_plain();
  arguments.refuse_command();
  const Node node = look_at_node(NodeRoot(arguments.value("--root")), std::nullopt, own_environment());
  const std::string xml = generate_topology(node.machine);
  if (xml.empty()) {
    throw Error(
        ExitCode::missing_input,
        fmt::format("{} has neither GPUs nor HCAs: run it on a compute node, or give --root", node.name));
  }
  if (const auto file = arguments.value("-o")) {
    write_atomically(*file, xml);
  } else {
    fmt::print("{}", xml);
  }
  return 0;
}

}  // namespace

Command topo_command() {
  return {"topo",
          "[--root DIR|FILE.tar] [-o FILE]",
          "write a topology file for NCCL from what a node's PCI bus shows",
          "Prints the file that `topology = generate` in a profile makes, for NCCL_TOPO_FILE.\n",
          options,
          run};
}

}  // namespace lockstep::spank
