// What one callback leaves for the next.
#pragma once

#include <array>
#include <type_traits>

#include "plan/user_options.h"
#include "plugin/arguments.h"

namespace lockstep::spank {

struct State {
  PluginArguments arguments;
  GivenOptions given;
  // Options that an outer command has left in the environment: Slurm reports each of them first.
  std::array<bool, user_option_texts.size()> inherited{};
  // plugstack.conf is wrong, or a callback has failed: do nothing, so that no node is lost to a typing error.
  bool inert = false;
  bool strict = false;  // as far as is known
};

// Made before the first guard can catch anything.
static_assert(std::is_nothrow_default_constructible_v<State>);

State& state() noexcept;

// What a callback gives back after an exception: the plugin does no more, and no job has to suffer for it.
int become_inert() noexcept;

}  // namespace lockstep::spank
