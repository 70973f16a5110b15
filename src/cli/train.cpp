#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "train/check.h"
#include "train/config_source.h"
#include "train/launch.h"

namespace lockstep::cli {

namespace po = boost::program_options;

namespace {

po::options_description flags() {
  po::options_description description("Options");
  description.add_options()("help,h", "print this help")(
      "print-config", "print the whole configuration, with the origin of each value, and stop")(
      "print", po::value<std::string>()->value_name("KEY"), "print the value of one key and stop")(
      "check", "check configuration, data and model without training, and stop")(
      "fork", "go on from the newest checkpoint although the configuration makes it another run")(
      "fresh", "start over; what is in the run folder goes into its archive-NNN, nothing is deleted");
  return description;
}

void print_help() {
  fmt::print(
      "usage: lockstep train CONFIG [--section.key=value ...] [OPTIONS]\n\n"
      "Trains, or goes on where an earlier attempt stopped. One process per device, started by srun or "
      "mpirun;\n"
      "without either it is one plain process. CONFIG is an INI file; the command line beats it.\n\n");
  std::ostringstream text;
  text << flags();
  fmt::print("{}\nKeys, with their defaults:\n", text.str());
  std::string section;
  for (const train::Key& key : train::config_keys()) {
    const std::string of = key.name.substr(0, key.name.find('.'));
    if (of != section) fmt::print("\n");
    section = of;
    fmt::print("  {:<22} {:<10} {}{}\n", key.name, key.default_text.empty() ? "-" : key.default_text,
               key.help, key.change == train::Change::refused ? " *" : "");
  }
  fmt::print(
      "\n  * fixed for the life of a run: a resume with another value is refused unless --fork is given.\n\n"
      "Exit codes: 0 finished, 75 saved and to be requeued; `lockstep --help` lists all.\n");
}

int print_value(const train::ResolvedConfig& resolved, const std::string& key) {
  std::vector<std::string> names;
  for (const train::Entry& entry : resolved.entries) {
    if (entry.key == key) {
      fmt::print("{}\n", entry.value);
      return 0;
    }
    names.push_back(entry.key);
  }
  const auto near = nearest(key, names);
  throw Error(ExitCode::usage, fmt::format("--print {}: unknown key{}", key,
                                           near ? fmt::format("; did you mean {}?", *near) : std::string()));
}

}  // namespace

int train_command(std::span<const std::string> args) {
  const po::options_description known = flags();  // what the parser returns points into it
  po::variables_map given;
  std::vector<std::string> words;
  try {
    const auto style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    const auto parsed = po::command_line_parser(std::vector<std::string>(args.begin(), args.end()))
                            .options(known)
                            .style(static_cast<int>(style))
                            .allow_unregistered()
                            .run();
    po::store(parsed, given);
    words = po::collect_unrecognized(parsed.options, po::include_positional);
  } catch (const po::error& problem) {
    throw Error(ExitCode::usage, fmt::format("lockstep train: {}", problem.what()));
  }
  if (given.count("help") != 0) {
    print_help();
    return 0;
  }
  const auto config =
      std::find_if(words.begin(), words.end(), [](const auto& word) { return !word.starts_with("-"); });
  if (config == words.end()) {
    throw Error(ExitCode::usage,
                "lockstep train: which configuration? usage: lockstep train CONFIG [--key=value ...]");
  }
  const std::string file = *config;
  words.erase(config);
  const train::ResolvedConfig resolved = train::resolve_config(file, words);
  if (given.count("check") != 0) fmt::print(stderr, "lockstep: {}\n", train::check(resolved));
  if (given.count("print-config") != 0) fmt::print("{}", train::to_ini(resolved, true));
  if (given.count("print") != 0) return print_value(resolved, given["print"].as<std::string>());
  if (given.count("check") != 0 || given.count("print-config") != 0) return 0;
  return train::launch(resolved, {given.count("fresh") != 0, given.count("fork") != 0});
}

}  // namespace lockstep::cli
