// What the plugin decides for one task, as data: nothing here changes an environment.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::spank {

// Who has a say about a variable, the strongest first.
enum class Source {
  option,     // --nccl-set, --nccl-unset
  user,       // the environment that the user gave
  user_file,  // ~/.nccl.conf, or NCCL_CONF_FILE
  profile,    // the site's file
  site_file,  // /etc/nccl.conf
  rule,       // what the plugin found out
};

struct Decision {
  std::string variable;
  std::optional<std::string> value;  // in effect for the task; nothing: not set
  Source source = Source::rule;
  std::string origin;     // for the table: "--nccl-set", "/etc/nccl.conf:3", "profile plain-ib"
  std::string reason;     // in words, without the value
  bool in_files = false;  // NCCL reads it from a file itself: the environment is left alone
};

struct Finding {
  enum class Severity {
    advice,   // slower or riskier than it need be
    problem,  // will fail, or is not what somebody asked for; fails the step in `strict`
  };
  Severity severity = Severity::advice;
  std::string text;    // what is wrong, one line
  std::string remedy;  // the option, setting or command that mends it
  // Other tasks of the node may not have it: every task tells its own.
  bool of_this_task = false;
};

struct Plan {
  std::deque<Decision> decisions;  // in the order of the table; each variable once
  std::vector<Finding> findings;
  std::string profile;  // its name
  // What is no variable and must be equal on every node all the same, as "socket interface: InfiniBand, 400
  // Gb/s".
  std::vector<std::string> equal;
  std::string digest;  // for the trainer, see digest.h
  const Decision* find(std::string_view variable) const;
};

}  // namespace lockstep::spank
