#include "plan/settings.h"

#include <fmt/format.h>

#include <algorithm>

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

Settings::Settings(const SettingSources& sources)
    : profile_(origin_of(sources.profile)),
      unset_(sources.options.unset.begin(), sources.options.unset.end()) {
  for (const auto& [variable, value] : sources.options.set) {
    unset_.erase(variable);
    put({variable, value, Source::option, "--nccl-set", "asked for", false});
  }
  for (const std::string& variable : unset_) {
    put({variable, std::nullopt, Source::option, "--nccl-unset", "asked for", false});
  }
  for (const auto& [variable, value] : sources.environment) {
    if (is_of_interest(variable, sources.profile)) {
      put({variable, value, Source::user, "environment", "set by the user", false});
    }
  }
  if (sources.user_file != nullptr) {
    for (const NcclConf::Entry& entry : sources.user_file->entries) {
      put({entry.variable, entry.value, Source::user_file, origin_of(*sources.user_file, entry.line),
           "NCCL reads the user's file", true});
    }
  }
  for (const Constant& constant : sources.profile.constants) {
    put({constant.variable, constant.value, Source::profile, profile_, "constant of the profile", false});
  }
  if (sources.site_file != nullptr) {
    for (const NcclConf::Entry& entry : sources.site_file->entries) {
      put({entry.variable, entry.value, Source::site_file, origin_of(*sources.site_file, entry.line),
           "NCCL reads the node's file", true});
    }
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
  plan_.findings.push_back({Finding::Severity::advice, std::move(text), std::move(remedy)});
}

void Settings::warn(std::string text, std::string remedy) {
  plan_.findings.push_back({Finding::Severity::problem, std::move(text), std::move(remedy)});
}

Plan Settings::take() && {
  return std::move(plan_);
}

}  // namespace lockstep::spank
