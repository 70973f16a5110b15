#include "train/config_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <functional>
#include <map>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "train/config_rules.h"

namespace lockstep::train {

namespace po = boost::program_options;

namespace {

[[noreturn]] void refuse(const std::string& origin, const std::string& problem) {
  throw Error(ExitCode::bad_config, fmt::format("{}: {}", origin, problem));
}

po::options_description describe_keys() {
  po::options_description description;
  for (const Key& key : config_keys()) {
    description.add_options()(key.name.c_str(), po::value<std::string>());
  }
  return description;
}

// Boost's parser keeps no line numbers: find the line of each key by the same simple grammar.
std::multimap<std::string, int> lines_of_keys(const std::string& text) {
  std::multimap<std::string, int> lines;
  std::string section;
  int number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(std::string_view(raw).substr(0, raw.find('#')));
    if (line.size() > 2 && line.front() == '[' && line.back() == ']') {
      section = std::string(line.substr(1, line.size() - 2)) + ".";
    } else if (const auto equals = line.find('='); equals != std::string_view::npos) {
      lines.emplace(section + std::string(trim(line.substr(0, equals))), number);
    }
  }
  return lines;
}

std::string unknown_key(const std::string& key) {
  std::vector<std::string> names;
  for (const Key& known : config_keys()) names.push_back(known.name);
  const auto near = nearest(key, names);
  return fmt::format(
      "unknown key {}{}", key,
      near ? fmt::format("; did you mean {}?", *near) : "; `lockstep train --help` lists the keys");
}

struct Given {
  std::string value;
  std::string origin;
};

std::string text_of(const std::filesystem::path& file) {
  const auto missing = [&](const std::string& why) {
    return Error(ExitCode::missing_input,
                 fmt::format("cannot read the configuration {}: {}", file.string(), why));
  };
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw missing("it is a folder");
  try {
    if (auto text = read_text(file)) return *text;
  } catch (const Error& unreadable) {
    throw missing(unreadable.what());
  }
  throw missing("no such file");
}

// Boost's parser says that a line is wrong, not which.
void check_lines(const std::filesystem::path& file, const std::string& text) {
  int number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(std::string_view(raw).substr(0, raw.find('#')));
    const bool section = line.size() > 2 && line.front() == '[' && line.back() == ']';
    if (line.empty() || section || line.find('=') != std::string_view::npos) continue;
    refuse(fmt::format("{}:{}", file.string(), number),
           fmt::format("\"{}\" is neither [section] nor key = value", line));
  }
}

void read_keys(const std::string& text, const std::filesystem::path& file,
               std::map<std::string, Given>& given) {
  check_lines(file, text);
  const auto lines = lines_of_keys(text);
  const auto origin = [&](const std::string& key, int occurrence) {
    auto [at, end] = lines.equal_range(key);
    while (at != end && occurrence-- > 0) ++at;
    return at == end ? file.string() : fmt::format("{}:{}", file.string(), at->second);
  };
  std::istringstream stream(text);
  try {
    for (const auto& option : po::parse_config_file(stream, describe_keys(), true).options) {
      const std::string& key = option.string_key;
      if (option.unregistered) refuse(origin(key, 0), unknown_key(key));
      if (given.contains(key)) refuse(origin(key, 1), fmt::format("{} is given twice", key));
      given[key] = {std::string(trim(option.value.empty() ? "" : option.value.front())), origin(key, 0)};
    }
  } catch (const po::error& problem) {
    refuse(file.string(), problem.what());
  }
}

// Not Boost's parser: it refuses an empty value, which is how a key is switched off.
void read_overrides(std::span<const std::string> overrides, std::map<std::string, Given>& given) {
  const std::string origin = "command line";
  const auto complain = [&](const std::string& problem) {
    throw Error(ExitCode::usage, fmt::format("{}: {}", origin, problem));
  };
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    const std::string& word = overrides[i];
    if (!word.starts_with("--")) complain(fmt::format("unexpected word {}", word));
    const auto equals = word.find('=');
    const std::string key = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const auto keys = config_keys();
    if (std::none_of(keys.begin(), keys.end(), [&](const Key& known) { return known.name == key; })) {
      complain(unknown_key(key));
    }
    if (equals == std::string::npos && i + 1 == overrides.size())
      complain(fmt::format("--{} has no value", key));
    // The last one wins, as people expect when they append to a command.
    given[key] = {equals == std::string::npos ? overrides[++i] : word.substr(equals + 1), origin};
  }
}

// A step's packet holds a few numbers for each micro-batch; more would make it a message of its own size.
constexpr std::int64_t most_micro_batches = 65536;

// `origin_of` tells where a key's value came from.
void check_combinations(const Config& config,
                        const std::function<std::string(const std::string&)>& origin_of) {
  const std::string batch_origin = origin_of("train.micro_batch");
  if (config.train.global_batch % config.train.micro_batch != 0) {
    refuse(batch_origin, fmt::format("train.micro_batch = {} does not divide train.global_batch = {}",
                                     config.train.micro_batch, config.train.global_batch));
  }
  if (config.virtual_workers() > most_micro_batches) {
    refuse(batch_origin,
           fmt::format("train.global_batch = {} / train.micro_batch = {} are more than {} micro-batches",
                       config.train.global_batch, config.train.micro_batch, most_micro_batches));
  }
  if (config.guard.spike_factor > 0 && config.guard.spike_factor <= 1) {
    refuse(origin_of("guard.spike_factor"),
           fmt::format("guard.spike_factor = {} would call ordinary losses spikes: 0, or more than 1",
                       config.guard.spike_factor));
  }
  if (config.guard.straggler_factor > 0 && config.guard.straggler_factor <= 1) {
    refuse(origin_of("guard.straggler_factor"),
           fmt::format("guard.straggler_factor = {} would call ordinary ranks slow: 0, or more than 1",
                       config.guard.straggler_factor));
  }
  if (config.comm.dtype != "f32" && config.train.reduction == "exact") {
    refuse(origin_of("comm.dtype"),
           fmt::format("comm.dtype = {} rounds what each rank sends, so the bits would depend on the number "
                       "of ranks: use comm.dtype = f32, or train.reduction = fast",
                       config.comm.dtype));
  }
  if (config.eval.metric == "accuracy" && config.train.loss == "mse") {
    refuse(
        origin_of("eval.metric"),
        "eval.metric = accuracy needs class labels, and train.loss = mse is for numbers: use eval.metric = "
        "loss");
  }
  for (const auto& [key, wanted] : {std::pair("eval.patience", config.eval.patience > 0),
                                    std::pair("checkpoint.keep_best", config.checkpoint.keep_best)}) {
    if (!wanted || !config.data.test.empty()) continue;
    refuse(origin_of(key), fmt::format("{} goes by evaluations: it needs data.test", key));
  }
}

}  // namespace

ResolvedConfig resolve_config(const std::filesystem::path& file, std::span<const std::string> overrides) {
  return resolve_config_text(text_of(file), file, overrides);
}

ResolvedConfig resolve_config_text(const std::string& text, const std::filesystem::path& file,
                                   std::span<const std::string> overrides) {
  std::map<std::string, Given> given;
  read_keys(text, file, given);
  read_overrides(overrides, given);

  ResolvedConfig resolved;
  for (const Key& key : config_keys()) {
    const auto at = given.find(key.name);
    Entry entry{key.name, key.default_text, "default"};
    if (at != given.end()) entry = {key.name, at->second.value, at->second.origin};
    if (key.name == "run.dir" && entry.value.empty()) {
      entry.value = (std::filesystem::path("checkpoints") / file.stem()).string();
    }
    try {
      key.set(resolved.config, entry.value);
    } catch (const std::invalid_argument& wanted) {
      refuse(entry.origin == "default" ? file.string() : entry.origin,
             fmt::format("{} = {}: {}", key.name, entry.value, wanted.what()));
    }
    resolved.entries.push_back(std::move(entry));
  }
  check_combinations(resolved.config, [&](const std::string& key) {
    return given.contains(key) ? given[key].origin : file.string();
  });
  check_schedule(resolved);
  return resolved;
}

std::string to_ini(const ResolvedConfig& resolved, bool with_origin) {
  std::string text;
  std::string section;
  for (const Entry& entry : resolved.entries) {
    const auto dot = entry.key.find('.');
    if (entry.key.substr(0, dot) != section) {
      text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", entry.key.substr(0, dot));
      section = entry.key.substr(0, dot);
    }
    const std::string line = fmt::format("{} = {}", entry.key.substr(dot + 1), entry.value);
    text += with_origin ? fmt::format("{:<44} # {}\n", line, entry.origin) : line + "\n";
  }
  return text;
}

std::string canonical_text(const ResolvedConfig& resolved) {
  std::string text;
  for (const Entry& entry : resolved.entries) text += fmt::format("{} = {}\n", entry.key, entry.value);
  return text;
}

std::vector<Difference> differences(const std::string& canonical, const ResolvedConfig& now) {
  std::map<std::string, std::string> before;
  for (const std::string& line : split(canonical, '\n')) {
    if (const auto equals = line.find(" = "); equals != std::string::npos) {
      before[line.substr(0, equals)] = line.substr(equals + 3);
    }
  }
  std::vector<Difference> found;
  const auto keys = config_keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto at = before.find(keys[i].name);
    const std::string& old = at != before.end() ? at->second : keys[i].default_text;
    if (keys[i].name != "run.dir" && old != now.entries[i].value) {
      found.push_back({keys[i].name, old, now.entries[i].value, keys[i].change});
    }
  }
  return found;
}

}  // namespace lockstep::train
