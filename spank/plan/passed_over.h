// What a rule did not take, for its reason in words.
#pragma once

#include <string>
#include <vector>

namespace lockstep::spank {

struct PassedOver {
  std::string name;
  std::string why;  // "slower", "container bridge"
};

// "ib1, ib2 and 5 more (slower), docker0 (container bridge)": grouped, in the order of the list, cut where it
// gets long. Empty for an empty list.
std::string describe(const std::vector<PassedOver>& passed_over);

}  // namespace lockstep::spank
