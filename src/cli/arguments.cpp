#include "cli/arguments.h"

#include <fmt/format.h>

#include <vector>

#include "core/error.h"

namespace lockstep::cli {

namespace po = boost::program_options;

po::variables_map parse_arguments(std::span<const std::string> args, const po::options_description& options,
                                  std::string_view command, int plain_words, const char* plain_name) {
  po::variables_map given;
  try {
    po::positional_options_description plain;
    plain.add(plain_name, plain_words);
    po::store(po::command_line_parser(std::vector<std::string>(args.begin(), args.end()))
                  .options(options)
                  .positional(plain)
                  .run(),
              given);
    po::notify(given);
  } catch (const po::error& problem) {
    throw Error(ExitCode::usage, fmt::format("{}: {}", command, problem.what()));
  }
  return given;
}

ConfigWords sort_config_words(std::span<const std::string> args) {
  ConfigWords words;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string name = args[i].substr(0, args[i].find('='));
    const bool key = name.starts_with("--") && name.find('.') != std::string::npos;
    (key ? words.overrides : words.options).push_back(args[i]);
    if (key && name == args[i] && i + 1 < args.size()) words.overrides.push_back(args[++i]);
  }
  return words;
}

}  // namespace lockstep::cli
