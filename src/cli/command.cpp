#include "cli/command.h"

#include <array>

namespace lockstep::cli {

int train_command(std::span<const std::string> args);
int requeue_command(std::span<const std::string> args);
int status_command(std::span<const std::string> args);
int doctor_command(std::span<const std::string> args);
int plot_command(std::span<const std::string> args);
int data_command(std::span<const std::string> args);
int checkpoint_command(std::span<const std::string> args);

std::span<const Command> commands() {
  static constexpr std::array table = {
      Command{"train", "train a model, or go on where an earlier attempt stopped", train_command},
      Command{"requeue", "end a batch job: decide whether it runs again, and tell Slurm", requeue_command},
      Command{"status", "tell how runs are doing", status_command},
      Command{"doctor", "measure what an allocation can do, and say what to change", doctor_command},
      Command{"plot", "draw the curves of a run", plot_command},
      Command{"data", "import, describe and verify datasets", data_command},
      Command{"checkpoint", "describe and verify checkpoints", checkpoint_command},
  };
  return table;
}

}  // namespace lockstep::cli
