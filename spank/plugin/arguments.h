// The arguments behind the plugin's path in plugstack.conf. Slurm splits them at blanks and knows no quotes.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/faults.h"
#include "site/mode.h"

namespace lockstep::spank {

// One line: which argument, and what can stand there.
class ArgumentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct PluginArguments {
  std::filesystem::path config;  // config=PATH: the site's profiles; empty: none
  std::optional<Mode> mode;      // mode=MODE: for steps of which neither user nor profile says anything
  // kill_on_bad_exit=yes: a step ends when one of its tasks fails, unless the user has set
  // SLURM_KILL_BAD_EXIT or uses --kill-on-bad-exit=0, or LOCKSTEP_NCCL is off (the option --nccl=off comes
  // too late for this).
  bool kill_on_bad_exit = false;
  // root=DIR: for tests and simulations: where sys/, proc/ and etc/nccl.conf are read, %n being the node.
  std::string root;  // empty: /
  Fault fault;
};

// Throws ArgumentError.
PluginArguments parse_arguments(const std::vector<std::string_view>& arguments);

// `root` for this node. Throws ArgumentError where %n is used and the name is none.
std::filesystem::path root_for(const PluginArguments& arguments, std::string_view node);

}  // namespace lockstep::spank
