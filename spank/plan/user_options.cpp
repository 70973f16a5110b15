#include "plan/user_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/text.h"
#include "step/clean_text.h"

namespace lockstep::spank {

namespace {

const UserOptionText& text_of(UserOption option) {
  return user_option_texts.at(static_cast<std::size_t>(option));
}

bool begins_name(char c) {
  return (c >= 'A' && c <= 'Z') || c == '_';
}
bool continues_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9');
}

// Length of the name that `text` begins with; 0: none.
std::size_t name_length(std::string_view text) {
  if (text.empty() || !begins_name(text.front())) return 0;
  std::size_t length = 1;
  while (length < text.size() && continues_name(text[length])) ++length;
  return length;
}

bool begins_pair(std::string_view text) {
  const std::size_t length = name_length(text);
  return length > 0 && length < text.size() && text[length] == '=';
}

// The plugin keeps its own books in variables of this name.
void check_name(std::string_view name) {
  if (name.starts_with("LOCKSTEP_NCCL")) {
    throw UserOptionError(
        fmt::format("{} belongs to the plugin itself and cannot be set or unset here", name));
  }
}

void check_value(std::string_view name, std::string_view value) {
  if (value.size() >= longest_user_value) {
    throw UserOptionError(fmt::format("the value of {} has {} bytes; want fewer than {}", name, value.size(),
                                      longest_user_value));
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(value.begin(), value.end(), is_control)) {
    throw UserOptionError(fmt::format("the value of {} has control characters", name));
  }
}

template <typename Value, std::size_t size>
Value parse_word(std::string_view text, std::optional<Value> (*parse)(std::string_view),
                 const std::array<Value, size>& all) {
  if (const auto value = parse(text)) return *value;
  std::vector<std::string> words;
  for (const Value value : all) words.emplace_back(name_of(value));
  const auto meant = nearest(text.substr(0, 20), words);
  throw UserOptionError(fmt::format("want one of {}{}", fmt::join(words, ", "),
                                    meant ? fmt::format(" (did you mean '{}'?)", *meant) : ""));
}

Mode mode_in(std::string_view text) {
  return parse_word(text, parse_mode,
                    std::array{Mode::automatic, Mode::off, Mode::show, Mode::warn, Mode::strict});
}

TorchMode torch_mode_in(std::string_view text) {
  return parse_word(text, parse_torch_mode, std::array{TorchMode::automatic, TorchMode::on, TorchMode::off});
}

void read_into(UserOptions& options, UserOption option, std::string_view text) {
  if (text.size() > longest_user_text) {
    throw UserOptionError(fmt::format("has {} bytes; want at most {}", text.size(), longest_user_text));
  }
  switch (option) {
    case UserOption::mode:
      options.mode = mode_in(text);
      return;
    case UserOption::set:
      options.set = parse_assignments(text);
      return;
    case UserOption::unset:
      options.unset = parse_names(text);
      return;
    case UserOption::torch:
      options.torch = torch_mode_in(text);
      return;
  }
}

// A text in a message: cut and clean, so that the line stays a line.
std::string shown(std::string_view text) {
  return clean_text(text, 80);
}

bool unsets(const UserOptions& options, const std::string& name) {
  return std::find(options.unset.begin(), options.unset.end(), name) != options.unset.end();
}

bool sets(const UserOptions& options, const std::string& name) {
  return std::any_of(options.set.begin(), options.set.end(),
                     [&](const auto& pair) { return pair.first == name; });
}

constexpr std::string_view set_and_unset_options = "--nccl-set and --nccl-unset";

std::string contradiction(std::string_view what, std::string_view name) {
  return fmt::format("{}: {} is both set and unset; take one of them away", what, name);
}

void drop_set(UserOptions& options, const UserOptions& stronger) {
  std::erase_if(options.set, [&](const auto& pair) { return unsets(stronger, pair.first); });
}

void drop_unset(UserOptions& options, const UserOptions& stronger) {
  std::erase_if(options.unset, [&](const std::string& name) { return sets(stronger, name); });
}

// Where both were said in one breath, nobody can tell which of the two is meant: neither counts.
void drop_contradictions(UserOptions& options, std::string_view what, std::vector<std::string>& complaints) {
  const UserOptions given = options;
  for (const auto& [name, value] : given.set) {
    if (unsets(given, name)) complaints.push_back(contradiction(what, name));
  }
  drop_set(options, given);
  drop_unset(options, given);
}

// The command's own option wins over the one that it inherits.
void settle_options(const GivenOptions& given, UserOptions& options, std::vector<std::string>& complaints) {
  const bool own_set = given.is_own(UserOption::set);
  const bool own_unset = given.is_own(UserOption::unset);
  if (own_set && !own_unset) {
    drop_unset(options, options);
  } else if (own_unset && !own_set) {
    drop_set(options, options);
  } else {
    drop_contradictions(options, set_and_unset_options, complaints);
  }
}

}  // namespace

void GivenOptions::inherit(UserOption option, std::string_view text) {
  values_.at(static_cast<std::size_t>(option)) = {std::string(text), false};
}

void GivenOptions::give(UserOption option, std::string_view text) {
  const char* name = text_of(option).name;
  try {
    UserOptions tried;
    read_into(tried, option, text);
  } catch (const UserOptionError& error) {
    throw UserOptionError(fmt::format("--{}={}: {}", name, shown(text), error.what()));
  }
  Value& value = values_.at(static_cast<std::size_t>(option));
  const bool is_list = option == UserOption::set || option == UserOption::unset;
  if (is_list && value.own && value.text != text) {
    throw UserOptionError(
        fmt::format("--{0} is given twice, and Slurm passes on only the last; write one: "
                    "--{0}={1},{2}",
                    name, shown(*value.text), shown(text)));
  }
  refuse_contradiction(option, text);
  value = {std::string(text), true};
}

void GivenOptions::refuse_contradiction(UserOption option, std::string_view text) const {
  UserOptions own;
  read_into(own, option, text);
  for (const UserOption other : {UserOption::set, UserOption::unset}) {
    if (other != option && is_own(other)) read_into(own, other, *find(other));
  }
  for (const auto& [name, value] : own.set) {
    if (unsets(own, name)) throw UserOptionError(contradiction(set_and_unset_options, name));
  }
}

void GivenOptions::claim(UserOption option) {
  Value& value = values_.at(static_cast<std::size_t>(option));
  value.own = value.text.has_value();
}

bool GivenOptions::is_own(UserOption option) const {
  return values_.at(static_cast<std::size_t>(option)).own;
}

const std::string* GivenOptions::find(UserOption option) const {
  const Value& value = values_.at(static_cast<std::size_t>(option));
  return value.text ? &*value.text : nullptr;
}

std::vector<std::pair<std::string, std::string>> parse_assignments(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::set<std::string, std::less<>> seen;
  std::string_view rest = text;
  for (;;) {
    if (!begins_pair(rest)) {
      throw UserOptionError(
          fmt::format("want KEY=VALUE[,KEY=VALUE...], KEY of A-Z, 0-9 and _, at '{}'", shown(rest)));
    }
    const std::string_view name = rest.substr(0, name_length(rest));
    rest.remove_prefix(name.size() + 1);
    std::size_t end = rest.find(',');
    while (end != std::string_view::npos && !begins_pair(rest.substr(end + 1))) end = rest.find(',', end + 1);
    const std::string_view value = rest.substr(0, end);
    check_name(name);
    check_value(name, value);
    if (!seen.emplace(name).second) throw UserOptionError(fmt::format("{} is given twice", name));
    pairs.emplace_back(name, value);
    if (end == std::string_view::npos) return pairs;
    rest.remove_prefix(end + 1);
  }
}

std::vector<std::string> parse_names(std::string_view text) {
  std::vector<std::string> names = split(text, ',');
  if (names.empty()) throw UserOptionError("want KEY[,KEY...]");
  for (const std::string& name : names) {
    if (name.empty() || name_length(name) != name.size()) {
      throw UserOptionError(fmt::format("want KEY[,KEY...], KEY of A-Z, 0-9 and _, at '{}'", shown(name)));
    }
    check_name(name);
  }
  return names;
}

AskedFor read_user_options(const GivenOptions& given, const Environment& environment) {
  AskedFor asked;
  UserOptions by_option;
  UserOptions by_variable;
  for (const UserOptionText& known : user_option_texts) {
    const std::string* option = given.find(known.option);
    const auto variable = find(environment, known.variable);
    try {
      if (option != nullptr) {
        read_into(by_option, known.option, *option);
      } else if (variable && !variable->empty()) {
        read_into(by_variable, known.option, *variable);
      }
    } catch (const UserOptionError& error) {
      const std::string name = option != nullptr ? fmt::format("--{}", known.name) : known.variable;
      asked.complaints.push_back(
          fmt::format("{}={}: {}", name, shown(option != nullptr ? *option : *variable), error.what()));
      asked.mode_is_unclear = asked.mode_is_unclear || known.option == UserOption::mode;
    }
  }
  settle_options(given, by_option, asked.complaints);
  drop_contradictions(by_variable, "LOCKSTEP_NCCL_SET and LOCKSTEP_NCCL_UNSET", asked.complaints);
  drop_set(by_variable, by_option);
  drop_unset(by_variable, by_option);

  asked.options.mode = by_option.mode ? by_option.mode : by_variable.mode;
  if (asked.mode_is_unclear) asked.options.mode = Mode::off;
  asked.options.torch = by_option.torch ? by_option.torch : by_variable.torch;
  asked.options.set = std::move(by_option.set.empty() ? by_variable.set : by_option.set);
  asked.options.unset = std::move(by_option.unset.empty() ? by_variable.unset : by_option.unset);
  return asked;
}

}  // namespace lockstep::spank
