#include "command/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace lockstep::spank {

namespace {

const Option& find_option(std::span<const Option> options, const std::string& name) {
  const auto at =
      std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
  if (at != options.end()) return *at;
  std::vector<std::string> names = {"--help"};
  for (const Option& option : options) names.emplace_back(option.name);
  const auto near = nearest(name, names);
  throw Error(ExitCode::usage, fmt::format("unknown option {}{}", name,
                                           near ? fmt::format("; did you mean {}?", *near)
                                                : std::string("; --help lists the options")));
}

}  // namespace

Arguments::Arguments(std::span<const std::string> words, std::span<const Option> options) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      command_.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      return;
    }
    if (!word.starts_with('-') || word == "-") {
      plain_.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Option& option = find_option(options, name);
    if (option.value.empty()) {
      if (equals != std::string::npos) {
        throw Error(ExitCode::usage, fmt::format("{} takes no value: write {} alone", name, name));
      }
      given_[name];
    } else if (equals != std::string::npos) {
      given_[name].push_back(word.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      given_[name].push_back(words[++i]);
    } else {
      throw Error(ExitCode::usage, fmt::format("{} needs a value: {} {}", name, name, option.value));
    }
  }
}

bool Arguments::has(std::string_view name) const {
  return given_.contains(name);
}

std::optional<std::string> Arguments::value(std::string_view name) const {
  const auto found = given_.find(name);
  if (found == given_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::values(std::string_view name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? std::vector<std::string>{} : found->second;
}

std::optional<int> Arguments::number(std::string_view name, int least, int most) const {
  const auto text = value(name);
  if (!text) return std::nullopt;
  const auto number = parse_int(*text);
  if (!number || *number < least || *number > most) {
    throw Error(ExitCode::usage,
                fmt::format("{} {}: not a whole number from {} to {}", name, *text, least, most));
  }
  return static_cast<int>(*number);
}

void Arguments::refuse_plain() const {
  if (!plain_.empty()) {
    throw Error(ExitCode::usage, fmt::format("what is {} for? --help shows the usage", plain_.front()));
  }
}

void Arguments::refuse_command() const {
  if (!command_.empty()) throw Error(ExitCode::usage, "a command after -- is for explain alone");
}

std::string describe(std::span<const Option> options) {
  std::string text;
  for (const Option& option : options) {
    const std::string left =
        fmt::format("{}{}{}", option.name, option.value.empty() ? "" : " ", option.value);
    text += fmt::format("  {:<23} {}\n", left, option.help);
  }
  return text;
}

}  // namespace lockstep::spank
