#include "plugin/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "plugin/guard.h"
#include "plugin/log.h"

namespace lockstep::spank {

namespace {

// Twice for the same value on a node; in srun first for what an outer command has left, then for its own.
int take(const UserOptionText& known, const char* text, bool remote) {
  inject(state().arguments.fault, "option");
  if (text == nullptr || state().inert) return 0;
  bool& inherited = state().inherited.at(static_cast<std::size_t>(known.option));
  if (remote || inherited) {
    // Checked where it was given; what is wrong nevertheless is told of together with the variables.
    inherited = false;
    state().given.inherit(known.option, text);
    return 0;
  }
  try {
    state().given.give(known.option, text);
  } catch (const UserOptionError& error) {
    complain(error.what());
    return -1;
  }
  return 0;
}

int option_callback(int number, const char* text, int remote) {
  return guard(
      "option",
      [&] { return take(user_option_texts.at(static_cast<std::size_t>(number)), text, remote != 0); },
      become_inert);
}

// As Slurm names the variable by which sbatch and salloc hand an option on.
std::string variable_of(const UserOptionText& known) {
  std::string name = known.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return fmt::format("SLURM_SPANK__SLURM_SPANK_OPTION_lockstep_{}", name);
}

}  // namespace

void register_options(spank_t spank) {
  for (const UserOptionText& known : user_option_texts) {
    // Slurm copies the option; that its fields are not const is an accident of C.
    spank_option option{const_cast<char*>(known.name),  const_cast<char*>(known.argument),
                        const_cast<char*>(known.usage), 1,
                        static_cast<int>(known.option), option_callback};
    if (const spank_err_t error = spank_option_register(spank, &option); error != ESPANK_SUCCESS) {
      complain(fmt::format("Slurm does not take the option --{}: {}", known.name, spank_strerror(error)));
    }
  }
}

void note_inherited_options(State& state) {
  for (const UserOptionText& known : user_option_texts) {
    state.inherited.at(static_cast<std::size_t>(known.option)) =
        std::getenv(variable_of(known).c_str()) != nullptr;
  }
}

void note_own_options(State& state, const Environment& environment) {
  for (const UserOptionText& known : user_option_texts) {
    const std::string* given = state.given.find(known.option);
    if (given != nullptr && find(environment, variable_of(known)) != *given) state.given.claim(known.option);
  }
}

bool user_variables_are_sound(const State& state) {
  Environment environment;
  for (const UserOptionText& known : user_option_texts) {
    if (const char* value = std::getenv(known.variable)) environment[known.variable] = value;
  }
  const AskedFor asked = read_user_options(state.given, environment);
  for (const std::string& complaint : asked.complaints) complain(complaint);
  return asked.complaints.empty();
}

}  // namespace lockstep::spank
