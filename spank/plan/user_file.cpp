#include "plan/user_file.h"

#include <algorithm>

#include "core/text.h"
#include "plan/applied.h"
#include "site/bounded_file.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t largest_passwd = std::size_t{1} << 20;

std::string conf_file_variable(const Environment& environment, const UserOptions& options) {
  constexpr const char* variable = "NCCL_CONF_FILE";
  for (auto given = options.set.rbegin(); given != options.set.rend(); ++given) {
    if (given->first == variable) return given->second;
  }
  const std::vector<std::string> applied = applied_variables(environment);
  for (const std::vector<std::string>& gone : {options.unset, applied}) {
    if (std::find(gone.begin(), gone.end(), variable) != gone.end()) return {};
  }
  return find(environment, variable).value_or("");
}

}  // namespace

std::filesystem::path user_file_path(const Environment& environment, const UserOptions& options,
                                     unsigned user) {
  // NCCL takes an empty one for none.
  if (const std::string file = conf_file_variable(environment, options); !file.empty()) return file;
  std::string home = find(environment, "HOME").value_or("");
  // From the file alone: a lookup through the system could ask a server and wait for it.
  if (home.empty()) home = home_in(read_bounded("/etc/passwd", largest_passwd).text, user);
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".nccl.conf";
}

std::string home_in(std::string_view passwd, unsigned user) {
  for (const std::string& line : split(passwd, '\n')) {
    const std::vector<std::string> fields = split(line, ':');
    if (fields.size() == 7 && parse_int(fields[2]) == user) return fields[5];
  }
  return {};
}

}  // namespace lockstep::spank
