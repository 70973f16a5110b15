#include "step/hostlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace lockstep::spank {

namespace {

constexpr std::size_t max_list_bytes = std::size_t{4} << 20;
constexpr std::size_t max_name_bytes = 255;  // of a host name in the DNS and in POSIX
constexpr std::size_t max_digits = 18;       // of a number in brackets: any such number fits 64 bits

[[noreturn]] void fail(std::size_t position, std::string_view what) {
  throw HostlistError(fmt::format("host list, character {}: {}", position + 1, what));
}

bool is_separator(char c) {
  return c == ',' || c == ' ' || c == '\t' || c == '\n';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_printable(char c) {
  return c > ' ' && c < '\x7f';
}

struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 0;  // of the first number as written: smaller numbers are padded to it
  std::uint64_t count() const { return last - first + 1; }
};

// The text before a pair of brackets, and what the brackets name.
struct Group {
  std::string_view prefix;
  std::vector<Range> ranges;
  std::uint64_t count = 0;
};

// One entry of the list: all combinations of the groups' numbers.
struct Pattern {
  std::vector<Group> groups;
  std::string_view suffix;
};

class Parser {
 public:
  explicit Parser(std::string_view list) : list_(list) {
    if (list.size() > max_list_bytes) fail(max_list_bytes, "the list is longer than 4 MiB");
  }

  // Nothing at the end of the list.
  std::optional<Pattern> next() {
    while (at_ < list_.size() && is_separator(list_[at_])) ++at_;
    if (at_ == list_.size()) return std::nullopt;
    const std::size_t begin = at_;
    Pattern pattern;
    for (;;) {
      const std::string_view text = literal();
      if (at_ == list_.size() || is_separator(list_[at_])) {
        pattern.suffix = text;
        return pattern;
      }
      pattern.groups.push_back(brackets(text));
      // Each group is at least one character of the name.
      if (pattern.groups.size() > max_name_bytes) fail(begin, "the name is longer than 255 characters");
    }
  }

 private:
  std::string_view literal() {
    const std::size_t begin = at_;
    for (; at_ < list_.size() && !is_separator(list_[at_]) && list_[at_] != '['; ++at_) {
      if (list_[at_] == ']') fail(at_, "']' without '['");
      if (!is_printable(list_[at_])) fail(at_, "no character of a host name");
    }
    if (at_ - begin > max_name_bytes) fail(begin, "the name is longer than 255 characters");
    return list_.substr(begin, at_ - begin);
  }

  Group brackets(std::string_view prefix) {
    Group group{prefix, {}, 0};
    const std::size_t begin = at_;
    do {
      ++at_;  // '[' or ','
      group.ranges.push_back(range());
      group.count += group.ranges.back().count();  // below 2^32 + 10^18: cannot wrap
      if (group.count > max_count) fail(begin, "more hosts than a list may name");
    } while (at_ < list_.size() && list_[at_] == ',');
    if (at_ == list_.size()) fail(begin, "'[' without ']'");
    if (list_[at_] != ']') fail(at_, "want a number, '-', ',' or ']' in brackets");
    ++at_;
    return group;
  }

  Range range() {
    Range range;
    const std::size_t begin = at_;
    range.first = number(range.width);
    range.last = range.first;
    if (at_ < list_.size() && list_[at_] == '-') {
      ++at_;
      std::size_t width = 0;
      range.last = number(width);
      if (range.last < range.first) fail(begin, "the range runs backwards");
    }
    return range;
  }

  std::uint64_t number(std::size_t& width) {
    const std::size_t begin = at_;
    while (at_ < list_.size() && is_digit(list_[at_])) ++at_;
    width = at_ - begin;
    if (width == 0) fail(begin, "want a number in brackets");
    if (width > max_digits) fail(begin, "the number has more than 18 digits");
    std::uint64_t value = 0;
    std::from_chars(list_.data() + begin, list_.data() + at_, value);
    return value;
  }

  static constexpr std::uint64_t max_count = std::uint64_t{1} << 32;
  std::string_view list_;
  std::size_t at_ = 0;
};

// The number of combinations, or `limit` + 1 where there are more.
std::uint64_t count_hosts(const Pattern& pattern, std::uint64_t limit) {
  std::uint64_t count = 1;
  for (const Group& group : pattern.groups) {
    if (group.count > limit / count) return limit + 1;
    count *= group.count;
  }
  return count;
}

// Where a group stands while the combinations are counted up.
struct Cursor {
  std::size_t range = 0;
  std::uint64_t number = 0;
};

std::vector<Cursor> first_choice(const Pattern& pattern) {
  std::vector<Cursor> choice;
  for (const Group& group : pattern.groups) choice.push_back({0, group.ranges.front().first});
  return choice;
}

// False where it was the group's last number and the first has its turn again.
bool advance(const Group& group, Cursor& cursor) {
  if (cursor.number < group.ranges[cursor.range].last) {
    ++cursor.number;
    return true;
  }
  const bool more = cursor.range + 1 < group.ranges.size();
  cursor.range = more ? cursor.range + 1 : 0;
  cursor.number = group.ranges[cursor.range].first;
  return more;
}

// Slurm counts up the last group first, and then the others from the left.
void advance(const Pattern& pattern, std::vector<Cursor>& choice) {
  const std::size_t groups = pattern.groups.size();
  for (std::size_t turn = 0; turn < groups; ++turn) {
    const std::size_t i = turn == 0 ? groups - 1 : turn - 1;
    if (advance(pattern.groups[i], choice[i])) return;
  }
}

void append_number(std::string& name, std::uint64_t number, std::size_t width) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  const auto length = static_cast<std::size_t>(end - digits);
  name.append(width > length ? width - length : 0, '0');
  name.append(digits, length);
}

std::string name_of(const Pattern& pattern, const std::vector<Cursor>& choice) {
  std::string name;
  for (std::size_t i = 0; i < pattern.groups.size(); ++i) {
    const Group& group = pattern.groups[i];
    name += group.prefix;
    append_number(name, choice[i].number, group.ranges[choice[i].range].width);
  }
  name += pattern.suffix;
  if (name.size() > max_name_bytes) {
    throw HostlistError(fmt::format("host list: {}... is longer than 255 characters", name.substr(0, 32)));
  }
  return name;
}

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view list, std::size_t limit) {
  std::vector<std::string> hosts;
  Parser parser(list);
  while (const auto pattern = parser.next()) {
    const std::uint64_t count = count_hosts(*pattern, limit);
    if (count > limit - hosts.size()) {
      throw HostlistError(fmt::format("host list: it names more than {} hosts", limit));
    }
    std::vector<Cursor> choice = first_choice(*pattern);
    for (std::uint64_t i = 0; i < count; ++i) {
      hosts.push_back(name_of(*pattern, choice));
      advance(*pattern, choice);
    }
  }
  return hosts;
}

std::optional<std::string> first_host(std::string_view list) {
  const auto pattern = Parser(list).next();
  if (!pattern) return std::nullopt;
  return name_of(*pattern, first_choice(*pattern));
}

}  // namespace lockstep::spank
