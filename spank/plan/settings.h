// A plan in the making: the one place that knows who wins (option > user's environment > ~/.nccl.conf >
// profile > /etc/nccl.conf > rule).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "site/nccl_conf.h"
#include "site/profile.h"
#include "step/environment.h"

namespace lockstep::spank {

// What the user asked for on the command line or through LOCKSTEP_NCCL_*.
struct UserOptions {
  std::optional<Mode> mode;
  std::optional<TorchMode> torch;
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> unset;
};

struct SettingSources {
  const UserOptions& options;
  const Environment& environment;  // without values that the plugin itself has set before
  const NcclConf* user_file;       // null: none
  const Profile& profile;
  const NcclConf* site_file;  // null: none
};

class Settings {
 public:
  explicit Settings(const SettingSources& sources);

  // What is in effect for a variable as things stand, whoever set it; nothing: not set. A variable that the
  // user has taken out by --nccl-unset is not set, and stays so.
  const Decision* find(std::string_view variable) const;

  // Sets the variable by rule, unless somebody with more say has already. Tells whether this value is in
  // effect.
  bool propose(const std::string& variable, const std::string& value, const std::string& reason);
  // Whether nobody with more say than a profile has decided about the variable.
  bool may_set(std::string_view variable) const;
  // The same with the profile's say, for what it orders by other keys than constants ("topology", "address").
  bool propose_for_profile(const std::string& variable, const std::string& value, const std::string& reason);
  // Says in the table why the plugin does not set a variable that somebody will look for.
  void leave_unset(const std::string& variable, const std::string& reason);
  // Takes the variable out of the task's environment, unless an option has set it.
  void remove(const std::string& variable, const std::string& reason);

  // Into the digest: what is no variable and must be equal on every node all the same.
  void expect_equal(std::string fact);

  void advise(std::string text, std::string remedy);
  void warn(std::string text, std::string remedy);
  // A problem that the other tasks of the node need not have.
  void warn_of_task(std::string text, std::string remedy);

  std::size_t findings() const { return plan_.findings.size(); }
  // Takes back all findings from this one on.
  void forget_findings(std::size_t from);

  Plan take() &&;

 private:
  static Decision unset_decision(const std::string& variable, const SettingSources& sources);
  bool put(Decision decision);
  void put_file(const NcclConf& file, Source source, std::string_view reason);
  void replace(Decision decision);
  Plan plan_;
  std::string profile_;  // as the origin of a decision
};

}  // namespace lockstep::spank
