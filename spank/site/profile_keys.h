// The keys of a profile: one reader each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "site/profile.h"

namespace lockstep::spank {

// What is wrong with a value and what to write, each without file and line; empty: it is in the profile now.
using Mistakes = std::vector<std::string>;

struct ProfileKey {
  std::string_view name;
  Mistakes (*read)(std::string_view value, Profile& profile);  // `value` is trimmed and not empty
  bool repeats = false;                                        // may stand in several lines of a profile
};

std::span<const ProfileKey> profile_keys();

// Null: there is no such key.
const ProfileKey* find_profile_key(std::string_view name);

}  // namespace lockstep::spank
