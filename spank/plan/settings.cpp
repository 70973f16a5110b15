#include "plan/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace lockstep::spank {

namespace {

// What an NCCL program reads or the profile would set; the rest of the user's environment is nobody's
// business.
bool is_of_interest(std::string_view variable, const Profile& profile) {
  for (const Constant& constant : profile.constants) {
    if (constant.variable == variable) return true;
  }
  for (const std::string_view prefix : {"NCCL_", "GLOO_", "UCX_", "OMPI_MCA_btl_tcp_if", "MASTER_", "PET_",
                                        "TORCH_NCCL_", "TP_SOCKET_", "FI_"}) {
    if (variable.starts_with(prefix)) return true;
  }
  for (const std::string_view name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK"}) {
    if (variable == name) return true;
  }
  return false;
}

std::string origin_of(const Profile& profile) {
  return fmt::format("profile {}", profile.name);
}

std::string origin_of(const NcclConf& file, int line) {
  return fmt::format("{}:{}", file.file, line);
}

}  // namespace

// NCCL alone reads these files: what they say to other libraries reaches nobody.
void Settings::put_file(const NcclConf& file, Source source, std::string_view reason) {
  for (const NcclConf::Entry& entry : file.entries) {
    if (!entry.variable.starts_with("NCCL_")) continue;
    put({entry.variable, entry.value, source, origin_of(file, entry.line), std::string(reason), true});
  }
}

// Where NCCL would read the variable from a file of its own, it must be there and empty: NCCL passes over
// that.
Decision Settings::unset_decision(const std::string& variable, const SettingSources& sources) {
  for (const NcclConf* file : {sources.user_file, sources.site_file}) {
    const NcclConf::Entry* entry = file == nullptr ? nullptr : file->find(variable);
    if (entry == nullptr || !variable.starts_with("NCCL_")) continue;
    return {variable,
            "",
            Source::option,
            "--nccl-unset",
            fmt::format("empty, so that NCCL does not take it from {}", origin_of(*file, entry->line)),
            false};
  }
  return {variable, std::nullopt, Source::option, "--nccl-unset", "asked for", false};
}

Settings::Settings(const SettingSources& sources) : profile_(origin_of(sources.profile)) {
  std::set<std::string> unset(sources.options.unset.begin(), sources.options.unset.end());
  for (const auto& [variable, value] : sources.options.set) {
    unset.erase(variable);
    put({variable, value, Source::option, "--nccl-set", "asked for", false});
  }
  for (const std::string& variable : unset) put(unset_decision(variable, sources));
  for (const auto& [variable, value] : sources.environment) {
    if (is_of_interest(variable, sources.profile)) {
      put({variable, value, Source::user, "environment", "set by the user", false});
    }
  }
  if (sources.user_file != nullptr) {
    put_file(*sources.user_file, Source::user_file, "NCCL reads the user's file");
  }
  for (const Constant& constant : sources.profile.constants) {
    put({constant.variable, constant.value, Source::profile, profile_, "constant of the profile", false});
  }
  if (sources.site_file != nullptr) {
    put_file(*sources.site_file, Source::site_file, "NCCL reads the node's file");
  }
}

// The first to come is the strongest: the constructor goes from strong to weak, the rules come last.
bool Settings::put(Decision decision) {
  if (plan_.find(decision.variable) != nullptr) return false;
  plan_.decisions.push_back(std::move(decision));
  return true;
}

const Decision* Settings::find(std::string_view variable) const {
  const Decision* decision = plan_.find(variable);
  return decision != nullptr && decision->value ? decision : nullptr;
}

bool Settings::propose(const std::string& variable, const std::string& value, const std::string& reason) {
  return put({variable, value, Source::rule, "rule", reason, false});
}

bool Settings::may_set(std::string_view variable) const {
  const Decision* decision = plan_.find(variable);
  return decision == nullptr || decision->source > Source::profile;
}

bool Settings::propose_for_profile(const std::string& variable, const std::string& value,
                                   const std::string& reason) {
  if (!may_set(variable)) return false;
  replace({variable, value, Source::profile, profile_, reason, false});
  return true;
}

void Settings::leave_unset(const std::string& variable, const std::string& reason) {
  put({variable, std::nullopt, Source::rule, "rule", reason, false});
}

void Settings::remove(const std::string& variable, const std::string& reason) {
  const Decision* decision = plan_.find(variable);
  if (decision != nullptr && decision->source == Source::option) return;
  replace({variable, std::nullopt, Source::rule, "rule", reason, false});
}

// In place, so that whoever holds a decision still holds one.
void Settings::replace(Decision decision) {
  const auto same = [&](const Decision& other) { return other.variable == decision.variable; };
  const auto found = std::find_if(plan_.decisions.begin(), plan_.decisions.end(), same);
  if (found == plan_.decisions.end()) {
    plan_.decisions.push_back(std::move(decision));
  } else {
    *found = std::move(decision);
  }
}

void Settings::advise(std::string text, std::string remedy) {
  plan_.findings.push_back({Finding::Severity::advice, std::move(text), std::move(remedy), false});
}

void Settings::warn(std::string text, std::string remedy) {
  plan_.findings.push_back({Finding::Severity::problem, std::move(text), std::move(remedy), false});
}

void Settings::warn_of_task(std::string text, std::string remedy) {
  plan_.findings.push_back({Finding::Severity::problem, std::move(text), std::move(remedy), true});
}

void Settings::expect_equal(std::string fact) {
  plan_.equal.push_back(std::move(fact));
}

void Settings::forget_findings(std::size_t from) {
  if (from < plan_.findings.size()) {
    plan_.findings.erase(plan_.findings.begin() + static_cast<std::ptrdiff_t>(from), plan_.findings.end());
  }
}

Plan Settings::take() && {
  return std::move(plan_);
}

}  // namespace lockstep::spank
