// Words of a command line against a table of options.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::spank {

struct Option {
  std::string_view name;   // "--root"
  std::string_view value;  // its value's name in the help, "DIR"; empty: a flag
  std::string_view help;
};

class Arguments {
 public:
  // "--name=value", "--name value", "-n value" for an option whose name is "-n"; all words after "--" are a
  // command. Throws Error(usage).
  Arguments(std::span<const std::string> words, std::span<const Option> options);

  bool has(std::string_view name) const;
  // Of an option that is given several times the last counts.
  std::optional<std::string> value(std::string_view name) const;
  std::vector<std::string> values(std::string_view name) const;
  // A whole number within the limits; throws Error(usage).
  std::optional<int> number(std::string_view name, int least, int most) const;

  const std::vector<std::string>& plain() const { return plain_; }
  const std::vector<std::string>& command() const { return command_; }
  // Throws Error(usage) where there are plain words or a command.
  void refuse_plain() const;
  void refuse_command() const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
  std::vector<std::string> plain_;
  std::vector<std::string> command_;
};

// One line for each option.
std::string describe(std::span<const Option> options);

}  // namespace lockstep::spank
