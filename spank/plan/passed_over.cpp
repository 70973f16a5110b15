#include "plan/passed_over.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::spank {

namespace {

constexpr std::size_t most_groups = 4;
constexpr std::size_t most_names = 2;  // of a group

struct Group {
  std::string why;
  std::vector<std::string> names;
};

std::string describe(const Group& group) {
  std::string text;
  const std::size_t count = std::min(group.names.size(), most_names);
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + group.names[i];
  if (group.names.size() > count) text += fmt::format(" and {} more", group.names.size() - count);
  return fmt::format("{} ({})", text, group.why);
}

}  // namespace

std::string describe(const std::vector<PassedOver>& passed_over) {
  std::vector<Group> groups;
  for (const PassedOver& each : passed_over) {
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const Group& group) { return group.why == each.why; });
    if (same == groups.end()) {
      groups.push_back({each.why, {each.name}});
    } else {
      same->names.push_back(each.name);
    }
  }
  std::string text;
  std::size_t told = 0;
  for (std::size_t i = 0; i < std::min(groups.size(), most_groups); ++i) {
    text += (i == 0 ? "" : ", ") + describe(groups[i]);
    told += groups[i].names.size();
  }
  if (told < passed_over.size()) text += fmt::format(" and {} more", passed_over.size() - told);
  return text;
}

}  // namespace lockstep::spank
