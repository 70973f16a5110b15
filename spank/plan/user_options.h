// What users ask of the plugin: the options of srun, sbatch and salloc, and the variables that say the same
// where there is no command line (REST submissions, scripts). An option replaces its variable.
#pragma once

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/settings.h"
#include "step/environment.h"

namespace lockstep::spank {

enum class UserOption { mode, set, unset, torch };

struct UserOptionText {
  UserOption option;
  const char* name;      // --NAME
  const char* argument;  // as --help shows it
  const char* usage;
  const char* variable;  // of the environment
};

inline constexpr std::array<UserOptionText, 4> user_option_texts{{
    {UserOption::mode, "nccl", "MODE", "set NCCL up and tell of faults: auto, off, show, warn or strict",
     "LOCKSTEP_NCCL"},
    {UserOption::set, "nccl-set", "KEY=VALUE[,KEY=VALUE...]",
     "set these variables, whatever NCCL's set-up would choose", "LOCKSTEP_NCCL_SET"},
    {UserOption::unset, "nccl-unset", "KEY[,KEY...]", "leave these variables unset", "LOCKSTEP_NCCL_UNSET"},
    {UserOption::torch, "nccl-torch", "auto|on|off",
     "set PyTorch's rank and size (auto: in steps of several tasks)", "LOCKSTEP_NCCL_TORCH"},
}};

inline constexpr std::size_t longest_user_value = 1000;  // bytes, of one variable
inline constexpr std::size_t longest_user_text = 16384;  // bytes, of one option

// One line: what was given, what is wrong, what to write instead.
class UserOptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The values of one command line as they come in, one option at a time.
class GivenOptions {
 public:
  // A value that an outer command (sbatch, salloc) has left for all commands inside; the command's own
  // replaces it.
  void inherit(UserOption option, std::string_view text);
  // A value of this command. Throws UserOptionError where it cannot be read, where the option has had another
  // value before (Slurm would pass on only the last), and where this command both sets and unsets a variable.
  void give(UserOption option, std::string_view text);
  // Says that the value, as far as there is one, is this command's own although it came in by `inherit`.
  void claim(UserOption option);
  // Null: not given.
  const std::string* find(UserOption option) const;
  bool is_own(UserOption option) const;

 private:
  struct Value {
    std::optional<std::string> text;
    bool own = false;
  };
  void refuse_contradiction(UserOption option, std::string_view text) const;
  std::array<Value, user_option_texts.size()> values_;
};

// A comma begins a new pair only where KEY= follows it, so that NCCL_IB_HCA==mlx5_0,mlx5_1 is one value. KEY
// is [A-Z_][A-Z0-9_]*. Throws UserOptionError.
std::vector<std::pair<std::string, std::string>> parse_assignments(std::string_view text);

// KEY[,KEY...]. Throws UserOptionError.
std::vector<std::string> parse_names(std::string_view text);

struct AskedFor {
  UserOptions options;
  std::vector<std::string>
      complaints;  // of what could not be read, or contradicts itself; that part is left out
  // The mode could not be read. It may have been meant to be `off`, so that is what it is.
  bool mode_is_unclear = false;
};

// Options and variables together. About each key an option has its say before a variable, and an option of
// the command itself before one that it inherits.
AskedFor read_user_options(const GivenOptions& given, const Environment& environment);

}  // namespace lockstep::spank
