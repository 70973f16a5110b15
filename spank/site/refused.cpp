#include "site/refused.h"

#include <fmt/format.h>

#include <array>

namespace lockstep::spank {

namespace {

struct Refused {
  std::string_view variable;  // a name, or a prefix with a star
  std::string_view reason;
};

constexpr std::string_view by_slurm = "belongs to Slurm; leave it out";
constexpr std::string_view by_shell = "belongs to the user's shell and programs; leave it out";
constexpr std::string_view by_loader = "changes which code every program runs; use a module or a TaskProlog";
constexpr std::string_view by_torch = "is different for every task; write 'torch = auto' or 'torch = on'";
constexpr std::string_view by_plugin =
    "is how the plugin is told what to do; write 'mode = ...' or 'torch = ...'";

constexpr std::array refused = {
    Refused{"NCCL_SOCKET_IFNAME", "is chosen on the node; write 'interfaces = NAME...'"},
    Refused{"GLOO_SOCKET_IFNAME", "is chosen on the node; write 'interfaces = NAME...'"},
    Refused{"NCCL_IB_HCA", "is chosen on the node; write 'hca = NAME...'"},
    Refused{"NCCL_IB_GID_INDEX", "has a key of its own; write 'gid-index = NUMBER'"},
    Refused{"NCCL_TOPO_FILE", "is checked against the node first; write 'topology = PATH'"},
    Refused{"NCCL_DEBUG_FILE", "has a key of its own; write 'debug-file = PATH'"},
    Refused{"NCCL_RAS_ADDR",
            "must differ between the steps of a node, and the plugin sees to that; leave it out"},
    Refused{"NCCL_CONF_FILE", "would replace every user's ~/.nccl.conf; write the variables here"},
    Refused{"NCCL_GRAPH_FILE", "is not for production, by NCCL's makers; leave it out"},
    Refused{"NCCL_COMM_ID", "must differ between steps; leave it out"},
    Refused{"NCCL_ASYNC_ERROR_HANDLING",
            "is PyTorch's, by its old name; write TORCH_NCCL_ASYNC_ERROR_HANDLING"},
    Refused{"NCCL_BLOCKING_WAIT", "is PyTorch's, by its old name; write TORCH_NCCL_BLOCKING_WAIT"},
    Refused{"MASTER_ADDR", "is different for every step; write 'address = PATTERN'"},
    Refused{"MASTER_PORT", "is different for every step; write 'ports = FIRST-LAST'"},
    Refused{"RANK", by_torch},
    Refused{"WORLD_SIZE", by_torch},
    Refused{"LOCAL_RANK", by_torch},
    Refused{"LOCAL_WORLD_SIZE", by_torch},
    Refused{"NODE_RANK", by_torch},
    Refused{"GROUP_RANK", by_torch},
    Refused{"PET_*", by_torch},
    Refused{"CUDA_VISIBLE_DEVICES", "belongs to Slurm's GPU binding; leave it out"},
    Refused{"ROCR_VISIBLE_DEVICES", "belongs to Slurm's GPU binding; leave it out"},
    Refused{"SLURM_*", by_slurm},
    Refused{"SLURMD_*", by_slurm},
    Refused{"SPANK_*", by_slurm},
    Refused{"PMI_*", by_slurm},
    Refused{"PMIX_*", by_slurm},
    Refused{"LOCKSTEP_*", by_plugin},
    Refused{"LD_*", by_loader},
    Refused{"PYTHON*", by_loader},
    Refused{"PERL5*", by_loader},
    Refused{"GLIBC_TUNABLES", by_loader},
    Refused{"PATH", by_shell},
    Refused{"HOME", by_shell},
    Refused{"USER", by_shell},
    Refused{"LOGNAME", by_shell},
    Refused{"SHELL", by_shell},
    Refused{"PWD", by_shell},
    Refused{"TMPDIR", by_shell},
    Refused{"IFS", by_shell},
    Refused{"ENV", by_shell},
    Refused{"BASH_*", by_shell},
    Refused{"PROMPT_COMMAND", by_shell},
};

bool covers(std::string_view pattern, std::string_view variable) {
  if (pattern.back() != '*') return pattern == variable;
  return variable.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

std::optional<std::string> refusal_of(std::string_view variable) {
  for (const auto& [pattern, reason] : refused) {
    if (covers(pattern, variable)) return fmt::format("{} {}", variable.substr(0, 64), reason);
  }
  return std::nullopt;
}

}  // namespace lockstep::spank
