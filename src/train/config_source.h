// From a configuration file and the command line to a Config, with the origin of every value.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "train/config.h"

namespace lockstep::train {

struct Entry {
  std::string key;
  std::string value;
  std::string origin;  // "run.conf:12", "command line" or "default"
};

struct ResolvedConfig {
  Config config;
  std::vector<Entry> entries;  // every key, in the order of config_keys()
};

// `overrides` are words of the form --section.key=value (or two words). The command line beats the file, the
// file beats the defaults. Throws Error(missing_input) where the file cannot be read, Error(bad_config)
// naming file, line, value seen, value wanted and, for an unknown key, the nearest known one.
ResolvedConfig resolve_config(const std::filesystem::path& file, std::span<const std::string> overrides);

// As resolve_config(), for a text; `file` is what error texts call it.
ResolvedConfig resolve_config_text(const std::string& text, const std::filesystem::path& file,
                                   std::span<const std::string> overrides);

// An INI file that gives this very configuration again; with_origin adds where each value came from.
std::string to_ini(const ResolvedConfig& resolved, bool with_origin);

// One line per key, "section.key = value": what a checkpoint keeps, and what is compared on resume.
std::string canonical_text(const ResolvedConfig& resolved);

struct Difference {
  std::string key;
  std::string before;
  std::string now;
  Change change;
};

// Keys whose values differ from those of `canonical`, a canonical_text() of an earlier attempt. run.dir is
// not compared: a folder may be moved. Keys that one side lacks count with the default.
std::vector<Difference> differences(const std::string& canonical, const ResolvedConfig& now);

}  // namespace lockstep::train
