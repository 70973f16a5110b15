#include "plan_fixture.h"

#include "core/text.h"

namespace lockstep::spank::test {

Plan PlanFixture::plan_of(Concern concern) const {
  NcclConf conf{"/etc/nccl.conf", {}};
  int line = 0;
  for (const std::string& text : split(site_file, '\n')) {
    const auto equals = text.find('=');
    conf.entries.push_back({text.substr(0, equals), text.substr(equals + 1), ++line});
  }
  const NcclConf* site = site_file.empty() ? nullptr : &conf;
  Settings settings({options, environment, nullptr, profile, site});
  concern({step, machine, profile, nullptr, site, TorchMode::automatic, {}, {}}, settings);
  return std::move(settings).take();
}

std::string value(const Plan& plan, std::string_view variable) {
  const Decision* decision = plan.find(variable);
  return decision != nullptr && decision->value ? *decision->value : "(not set)";
}

std::string reason(const Plan& plan, std::string_view variable) {
  const Decision* decision = plan.find(variable);
  return decision == nullptr ? "" : decision->reason;
}

std::string findings(const Plan& plan) {
  std::string text;
  for (const Finding& finding : plan.findings) {
    text += (finding.severity == Finding::Severity::problem ? "problem: " : "advice: ") + finding.text + "\n";
  }
  return text;
}

}  // namespace lockstep::spank::test
