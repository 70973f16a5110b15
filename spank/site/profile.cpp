#include "site/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <span>

#include "core/hash.h"
#include "core/text.h"
#include "site/bounded_file.h"
#include "site/in_quotes.h"
#include "site/profile_keys.h"
#include "site/refused.h"
#include "site/variables.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t largest_file = 1 << 20;
constexpr std::size_t longest_value = 999;  // of a constant: some readers of the environment take 1023 bytes
constexpr std::size_t longest_name = 64;
constexpr std::size_t longest_line = 4096;
constexpr std::size_t most_mistakes = 4;  // told of, for one line

std::string converted(std::string_view text, int (*convert)(int)) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(convert(static_cast<unsigned char>(c)));
  return result;
}

// A constant's name: upper case, with an underscore, so that it cannot be taken for a key.
bool is_variable(std::string_view name) {
  return name.size() <= longest_name && name.find('_') != std::string_view::npos &&
         std::isupper(static_cast<unsigned char>(name.front())) != 0 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_';
         });
}

// The name as a key would be written.
std::string as_key(std::string_view name) {
  std::string key = converted(name, std::tolower);
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

std::string unknown_key(std::string_view name) {
  const std::string key_like = as_key(name);
  if (find_profile_key(key_like) != nullptr) {
    return fmt::format("unknown key {}; write '{}'", in_quotes(name), key_like);
  }
  const std::string as_variable = converted(name, std::toupper);
  const auto typed = typed_variables();
  if (std::find(typed.begin(), typed.end(), as_variable) != typed.end()) {
    return fmt::format("unknown key {}; write '{}'", in_quotes(name), as_variable);
  }
  std::vector<std::string> names;
  for (const ProfileKey& key : profile_keys()) names.emplace_back(key.name);
  // Only a word that may be meant: the comparison takes the product of the lengths.
  const auto meant = name.size() <= longest_name ? nearest(key_like, names) : std::nullopt;
  if (meant) return fmt::format("unknown key {} (did you mean '{}'?)", in_quotes(name), *meant);
  return fmt::format("unknown key {}; keys are {}, and variables in upper case", in_quotes(name),
                     fmt::join(names, ", "));
}

// What no value may have, whatever its key.
Mistakes faults_of_any_value(std::string_view name, std::string_view value) {
  if (value.empty()) return {fmt::format("{} has no value; write one, or leave the line out", name)};
  for (const std::string_view mark : {" #", "\t#", " ;", "\t;"}) {
    if (value.find(mark) != std::string_view::npos) {
      return {fmt::format("there is a comment behind the value of {}; give it a line of its own", name)};
    }
  }
  if (value.front() == '"' || value.front() == '\'') {
    return {fmt::format("the value of {} would keep its quotes; write it without", name)};
  }
  return {};
}

class Parser {
 public:
  explicit Parser(std::string_view file) : file_(file) {}

  void take(std::string_view line) {
    ++line_;
    line = trim(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') return;
    if (line.size() > longest_line) {
      fail({fmt::format("the line has more than {} bytes; shorten it", longest_line)});
    }
    if (const auto found =
            std::find_if(line.begin(), line.end(), [](unsigned char c) { return c < ' ' && c != '\t'; });
        found != line.end()) {
      fail({fmt::format("there is a control character (byte {:#04x}); remove it",
                        static_cast<unsigned char>(*found))});
    }
    if (line.front() == '[') {
      begin_profile(line);
    } else {
      take_key(line);
    }
  }

  std::vector<Profile> take_profiles() && { return std::move(profiles_); }

 private:
  [[noreturn]] void fail(const Mistakes& mistakes) const {
    const std::span<const std::string> told(mistakes.data(), std::min(mistakes.size(), most_mistakes));
    const std::size_t untold = mistakes.size() - told.size();
    throw SiteConfigError(fmt::format("{}:{}: {}{}", file_, line_, fmt::join(told, "; also: "),
                                      untold > 0 ? fmt::format("; and {} more", untold) : ""));
  }

  void begin_profile(std::string_view line) {
    constexpr std::string_view word = "[profile";
    const bool whole = line.starts_with(word) && line.back() == ']' && line.size() > word.size() + 1;
    const std::string_view name = whole ? trim(line.substr(word.size(), line.size() - word.size() - 1)) : "";
    const bool good = !name.empty() && name.size() <= longest_name && line[word.size()] == ' ' &&
                      std::all_of(name.begin(), name.end(), [](unsigned char c) {
                        return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                      });
    if (!good) {
      fail({fmt::format("{} begins no profile; write [profile NAME], the name of letters, digits and -_.",
                        in_quotes(line))});
    }
    if (const auto [known, fresh] = lines_of_profiles_.try_emplace(std::string(name), line_); !fresh) {
      fail({fmt::format("there is a profile '{}' in line {} already; give it another name", name,
                        known->second)});
    }
    if (!profiles_.empty() && matches_all(profiles_.back())) {
      fail({fmt::format(
          "profile '{}' is never used, because '{}' in line {} has no 'match' and takes every node; "
          "give that one a match, or move it to the end",
          name, profiles_.back().name, profiles_.back().line)});
    }
    lines_of_keys_.clear();
    profiles_.emplace_back();
    profiles_.back().name = name;
    profiles_.back().file = file_;
    profiles_.back().line = line_;
  }

  static bool matches_all(const Profile& profile) {
    return profile.nodes.empty() && profile.pci.empty() && profile.products.empty();
  }

  void take_key(std::string_view line) {
    const std::size_t equals = line.find('=');
    const std::string_view name = trim(line.substr(0, equals));
    if (equals == std::string_view::npos || name.empty()) {
      fail({fmt::format("{} is neither [profile NAME] nor KEY = VALUE", in_quotes(line))});
    }
    const std::string_view value = trim(line.substr(equals + 1));
    if (profiles_.empty())
      fail({fmt::format("{} stands before the first profile; begin with [profile NAME]", in_quotes(name))});
    if (const ProfileKey* key = find_profile_key(name)) {
      if (!key->repeats) claim(name);
      accept(faults_of_any_value(name, value));
      accept(key->read(value, profiles_.back()), name);
      return;
    }
    if (const auto refusal = is_printable(name) ? refusal_of(name) : std::nullopt) fail({*refusal});
    if (!is_variable(name) || find_profile_key(as_key(name)) != nullptr) fail({unknown_key(name)});
    claim(name);
    accept(faults_of_any_value(name, value));
    take_constant(name, value);
  }

  void take_constant(std::string_view name, std::string_view value) {
    if (value.size() > longest_value) {
      fail({fmt::format("the value of {} has {} bytes; at most {} are safe", name, value.size(),
                        longest_value)});
    }
    if (!is_printable(value)) fail({fmt::format("{} is {}; write printable ASCII", name, in_quotes(value))});
    if (const auto fault = fault_of_value(name, value)) fail({fmt::format("{} {}", name, *fault)});
    profiles_.back().constants.push_back({std::string(name), std::string(value), line_});
  }

  void claim(std::string_view name) {
    const auto [known, fresh] = lines_of_keys_.try_emplace(std::string(name), line_);
    if (!fresh) fail({fmt::format("{} is in line {} already; remove one of the two", name, known->second)});
  }

  void accept(Mistakes mistakes, std::string_view name = {}) const {
    if (mistakes.empty()) return;
    if (!name.empty()) mistakes.front() = fmt::format("{}: {}", name, mistakes.front());
    fail(mistakes);
  }

  std::string file_;
  int line_ = 0;
  std::vector<Profile> profiles_;
  std::map<std::string, int, std::less<>> lines_of_profiles_;
  std::map<std::string, int, std::less<>> lines_of_keys_;  // of the profile that is being read
};

void refuse_other_encodings(std::string_view text, const std::string& file) {
  constexpr std::pair<std::string_view, std::string_view> marks[] = {
      {"\xEF\xBB\xBF", "UTF-8"}, {"\xFF\xFE", "UTF-16"}, {"\xFE\xFF", "UTF-16"}};
  for (const auto& [mark, encoding] : marks) {
    if (text.starts_with(mark)) {
      throw SiteConfigError(fmt::format(
          "{}:1: the file begins with the byte order mark of {}; save it as plain text without one", file,
          encoding));
    }
  }
}

}  // namespace

SiteConfig parse_site_config(std::string_view text, const std::string& file) {
  refuse_other_encodings(text, file);
  Parser parser(file);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    parser.take(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return {.file = file, .profiles = std::move(parser).take_profiles(), .hash = hash64(text)};
}

SiteConfig read_site_config(const std::filesystem::path& path, unsigned owner) {
  const std::string name = path.string();
  const BoundedFile file = read_bounded(path, largest_file);
  if (file.missing)
    throw SiteConfigError(
        fmt::format("{}: there is no such file; create it, or remove it from plugstack.conf", name));
  // Whoever can write the file decides about the environment of every user's programs.
  if (file.problem.empty() && file.owner != owner) {
    throw SiteConfigError(
        fmt::format("{}: belongs to user {}, not {}; chown {} {}", name, file.owner, owner, owner, name));
  }
  if (file.problem.empty() && (file.mode & 022U) != 0) {
    throw SiteConfigError(fmt::format("{}: others than its owner may write it (mode {:04o}); chmod go-w {}",
                                      name, file.mode, name));
  }
  if (!file.problem.empty())
    throw SiteConfigError(fmt::format("{}: {}; a readable plain file is needed", name, file.problem));
  return parse_site_config(file.text, name);
}

}  // namespace lockstep::spank
