#include "plugin/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/table.h"
#include "plugin/log.h"

namespace lockstep::spank {

void tell_table(const Plan& plan) {
  if (plan.decisions.empty()) return;
  for (const std::string& line : table_of(plan)) tell(line);
}

void tell_findings(const Plan& plan, const Step& step) {
  for (const Finding& finding : plan.findings) {
    if (step.local_rank != 0 && !finding.of_this_task) continue;
    const bool problem = finding.severity == Finding::Severity::problem;
    tell(fmt::format("{} on {}: {}{}{}", problem ? "problem" : "advice", step.node, finding.text,
                     finding.remedy.empty() ? "" : "; ", finding.remedy));
  }
}

bool has_problem(const Plan& plan) {
  return std::any_of(plan.findings.begin(), plan.findings.end(),
                     [](const Finding& finding) { return finding.severity == Finding::Severity::problem; });
}

}  // namespace lockstep::spank
