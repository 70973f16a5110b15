// A node as a command sees it: its hardware, its name, its files.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "command/node_root.h"
#include "machine/machine.h"
#include "site/nccl_conf.h"
#include "step/environment.h"

namespace lockstep::spank {

struct Node {
  NodeRoot root;
  std::string name;  // as Slurm knows it, as far as that is known
  Machine machine;
  std::chrono::milliseconds reading{0};  // what it took of CPU time
  std::chrono::milliseconds waiting{0};  // how long it took in all
};

// `name` is what the user says, if anything. A command has more time for reading than the plugin.
Node look_at_node(NodeRoot root, const std::optional<std::string>& name, const Environment& environment,
                  const std::function<void(const Reading&)>& observe = nullptr);

// The node's /etc/nccl.conf, by that name.
std::optional<NcclConf> nccl_conf_of(const NodeRoot& root);

// "1 task", "2 tasks"
std::string count_of(std::size_t count, const char* what);

// "8 GPUs, 10 HCAs, 12 interfaces"
std::string hardware_of(const Machine& machine);

}  // namespace lockstep::spank
