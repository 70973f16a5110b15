// The plugin as Slurm sees it: four symbols and three callbacks. Everything for a task is done in task_init,
// the only callback that sees the task's rank, GPUs and ports, and whose failure costs no node.
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "plugin/arguments.h"
#include "plugin/guard.h"
#include "plugin/log.h"
#include "plugin/options.h"
#include "plugin/outer_step.h"
#include "plugin/slurm.h"
#include "plugin/state.h"
#include "plugin/task.h"

namespace {

using namespace lockstep::spank;  // NOLINT(google-build-using-namespace): this file is the plugin

bool is_command(spank_context_t context) {
  return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR;
}

// srun reads the variable right after this callback; in any later one it would be too late.
void let_a_failure_end_the_step() {
  const char* mode = std::getenv("LOCKSTEP_NCCL");
  // A mode that is none counts as off.
  if (mode != nullptr && *mode != '\0' && parse_mode(mode).value_or(Mode::off) == Mode::off) return;
  // Slurm's commands have a single thread here.
  ::setenv("SLURM_KILL_BAD_EXIT", "1", 0);  // NOLINT(concurrency-mt-unsafe)
}

int init(spank_t spank, int count, char** values) {
  const spank_context_t context = spank_context();
  if (!is_command(context) && context != S_CTX_REMOTE) return 0;
  register_options(spank);
  try {
    state().arguments = parse_arguments({values, values + count});
  } catch (const ArgumentError& error) {
    state().inert = true;
    complain(error.what());
    return is_command(context) ? -1 : 0;
  }
  state().strict = state().arguments.mode == Mode::strict;
  if (context == S_CTX_LOCAL) {
    note_inherited_options(state());
    if (state().arguments.kill_on_bad_exit) let_a_failure_end_the_step();
  }
  if (context == S_CTX_ALLOCATOR) forget_outer_step();
  inject(state().arguments.fault, "init");
  return 0;
}

int init_post_opt() {
  inject(state().arguments.fault, "init_post_opt");
  if (state().inert || spank_context() != S_CTX_ALLOCATOR) return 0;
  return user_variables_are_sound(state()) ? 0 : -1;
}

}  // namespace

// Slurm's macro SPANK_PLUGIN makes constants, which in C++ no other file can see.
extern "C" {

#define LOCKSTEP_EXPORTED [[gnu::visibility("default")]]

LOCKSTEP_EXPORTED extern const char plugin_name[] = "lockstep";
LOCKSTEP_EXPORTED extern const char plugin_type[] = "spank";
LOCKSTEP_EXPORTED extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
LOCKSTEP_EXPORTED extern const unsigned int spank_plugin_version = 1;

LOCKSTEP_EXPORTED int slurm_spank_init(spank_t spank, int count, char** values) {
  return guard(
      "init", [&] { return init(spank, count, values); }, become_inert);
}

LOCKSTEP_EXPORTED int slurm_spank_init_post_opt(spank_t, int, char**) {
  return guard(
      "init_post_opt", [] { return init_post_opt(); }, become_inert);
}

LOCKSTEP_EXPORTED int slurm_spank_task_init(spank_t spank, int, char**) {
  const int result = guard(
      "task_init", [&] { return set_up_task(spank, state()); }, [] { return state().strict ? -1 : 0; });
  // Slurm passes over the failure of a plugin that plugstack.conf calls optional, and what the user wants
  // strict would run all the same. This is the task's own process, which Slurm would end in the same way.
  if (result != 0) ::_exit(1);
  return 0;
}

}  // extern "C"
