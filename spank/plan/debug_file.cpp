// One file of NCCL's messages for each rank, where the site wants it.
#include <fmt/format.h>

#include <cctype>

#include "plan/concern.h"
#include "site/in_quotes.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t longest_path = 999;

// Slurm's ids are numbers; whatever else somebody has put there must not become part of a path.
std::string digits_of(const std::string& id) {
  std::string digits;
  for (const char c : id) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  }
  return digits;
}

// Fills in what NCCL does not know, %j, %s and %r; leaves %h, %p and %% to it.
std::string expand(const std::string& pattern, const Step& step) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      path += pattern[i];
      continue;
    }
    switch (const char placeholder = pattern[++i]) {
      case 'j':
        path += digits_of(step.job);
        break;
      case 's':
        path += digits_of(step.step);
        break;
      case 'r':
        path += std::to_string(step.rank);
        break;
      default:
        path.append({'%', placeholder});
    }
  }
  return path;
}

}  // namespace

void set_debug_file(const Facts& facts, Settings& settings) {
  if (facts.profile.debug_file.empty()) return;
  const std::string path = expand(facts.profile.debug_file, facts.step);
  if (path.size() > longest_path) {
    settings.advise(
        fmt::format("profile {}: debug-file becomes longer than {} bytes", facts.profile.name, longest_path),
        "have the administrator shorten it");
    return;
  }
  if (!settings.propose_for_profile("NCCL_DEBUG_FILE", path, "debug-file of the profile")) return;
  const Decision* level = settings.find("NCCL_DEBUG");
  if (level == nullptr) {
    settings.propose_for_profile("NCCL_DEBUG", "WARN", "without a level NCCL writes no debug file");
  } else if (level->source <= Source::user_file) {
    // Who asks for messages looks for them in the job's output.
    settings.advise(
        fmt::format("NCCL's messages go to {}, by profile {}", in_quotes(path, 200), facts.profile.name),
        "to have them in the job's output, --nccl-unset=NCCL_DEBUG_FILE");
  }
}

}  // namespace lockstep::spank
