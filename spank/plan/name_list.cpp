#include "plan/name_list.h"

#include <algorithm>
#include <cstdlib>

#include "core/text.h"

namespace lockstep::spank {

NameList::NameList(std::string_view text) {
  exclude_ = text.starts_with('^');
  if (exclude_) text.remove_prefix(1);
  exact_ = text.starts_with('=');
  if (exact_) text.remove_prefix(1);
  for (const std::string& part : split(text, ',')) {
    const auto colon = part.find(':');
    Entry entry{part.substr(0, colon), -1};
    if (entry.name.empty()) continue;
    if (colon != std::string::npos) {
      entry.port = std::atoi(part.c_str() + colon + 1);  // as NCCL does: "x" is 0
    }
    entries_.push_back(std::move(entry));
  }
}

bool NameList::selects(std::string_view name, int port) const {
  const auto matches = [&](const Entry& entry) {
    return (exact_ ? name == entry.name : name.starts_with(entry.name)) &&
           (entry.port == -1 || port == -1 || entry.port == port);
  };
  // An empty list matches everything.
  const bool listed = entries_.empty() || std::any_of(entries_.begin(), entries_.end(), matches);
  return listed != exclude_;
}

}  // namespace lockstep::spank
