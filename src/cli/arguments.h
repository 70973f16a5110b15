// The words of a subcommand whose plain words all mean one option, such as a run folder, or several.
#pragma once

#include <boost/program_options.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::cli {

// At most `plain_words` plain words (-1: any number) are the option `plain_name`; the variables that
// `options` names are set. Throws Error(usage) that begins with `command`, such as "lockstep plot".
boost::program_options::variables_map parse_arguments(
    std::span<const std::string> args, const boost::program_options::options_description& options,
    std::string_view command, int plain_words, const char* plain_name = "run");

// Keys of the configuration have a dot, options have none.
struct ConfigWords {
  std::vector<std::string> options;
  std::vector<std::string> overrides;  // for train::resolve_config()
};
ConfigWords sort_config_words(std::span<const std::string> args);

}  // namespace lockstep::cli
