#include "plugin/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace lockstep::spank {

namespace {

constexpr std::size_t most_arguments = 1000;
constexpr std::size_t longest_argument = 4096;
// Far below the 128 KiB at which Slurm and execve fail, and more than any list of devices needs.
constexpr std::size_t longest_value = 16384;

// SLURM_EXTERN_CONT and above are Slurm's own steps; released versions have four of them and count down.
constexpr std::uint32_t first_special_step = 0xfffffff0;

std::string get(spank_t spank, const std::string& variable, std::size_t longest) {
  std::string value(longest + 1, '\0');
  if (spank_getenv(spank, variable.c_str(), value.data(), static_cast<int>(value.size())) != ESPANK_SUCCESS)
    return {};
  value.resize(std::strlen(value.c_str()));
  return value;
}

bool is_set(spank_t spank, const std::string& variable) {
  char byte[1];
  return spank_getenv(spank, variable.c_str(), byte, sizeof byte) != ESPANK_ENV_NOEXIST;
}

// Empty: done.
std::string set(spank_t spank, const std::string& variable, const std::string& value) {
  if (value.size() > longest_value) return fmt::format("{} bytes are too many for a variable", value.size());
  if (const spank_err_t error = spank_setenv(spank, variable.c_str(), value.c_str(), 1);
      error != ESPANK_SUCCESS) {
    return spank_strerror(error);
  }
  return get(spank, variable, value.size()) == value && is_set(spank, variable) ? ""
                                                                                : "it reads back differently";
}

std::string unset(spank_t spank, const std::string& variable) {
  if (const spank_err_t error = spank_unsetenv(spank, variable.c_str()); error != ESPANK_SUCCESS) {
    return spank_strerror(error);
  }
  return is_set(spank, variable) ? "it is still set" : "";
}

}  // namespace

bool is_program_step(spank_t spank) {
  std::uint32_t step = 0;
  return spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS && step < first_special_step;
}

Environment environment_of(spank_t spank) {
  char** entries = nullptr;
  if (spank_get_item(spank, S_JOB_ENV, &entries) != ESPANK_SUCCESS || entries == nullptr) {
    throw std::runtime_error("Slurm does not show the job's environment");
  }
  return environment_of(entries);
}

std::vector<std::string> command_of(spank_t spank) {
  int count = 0;
  char** arguments = nullptr;
  if (spank_get_item(spank, S_JOB_ARGV, &count, &arguments) != ESPANK_SUCCESS || arguments == nullptr)
    return {};
  std::vector<std::string> command;
  for (int i = 0; i < count && arguments[i] != nullptr && command.size() < most_arguments; ++i) {
    command.emplace_back(arguments[i], ::strnlen(arguments[i], longest_argument));
  }
  return command;
}

std::vector<std::string> make_changes(spank_t spank, const std::vector<Change>& changes) {
  std::vector<std::string> failures;
  for (const Change& change : changes) {
    const std::string failure =
        change.value ? set(spank, change.variable, *change.value) : unset(spank, change.variable);
    if (!failure.empty()) {
      failures.push_back(
          fmt::format("{} could not be {}: {}", change.variable, change.value ? "set" : "unset", failure));
    }
  }
  return failures;
}

}  // namespace lockstep::spank
