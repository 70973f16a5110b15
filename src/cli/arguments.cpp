#include "cli/arguments.h"

#include <fmt/format.h>

#include <vector>

#include "core/error.h"

namespace lockstep::cli {

namespace po = boost::program_options;

po::variables_map parse_arguments(std::span<const std::string> args, const po::options_description& options,
                                  std::string_view command, int plain_words) {
  po::variables_map given;
  try {
    po::positional_options_description plain;
    plain.add("run", plain_words);
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

}  // namespace lockstep::cli
