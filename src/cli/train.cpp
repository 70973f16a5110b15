#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "cli/arguments.h"
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
      "reference", "print the reference of all keys as Markdown (docs/configuration.md) and stop")(
      "check", "check configuration, data and model without training, and stop")(
      "device", po::value<std::string>()->value_name("KIND"),
      "auto, cpu or cuda: short for --train.device=KIND")(
      "fork", "go on from the newest checkpoint although the configuration makes it another run")(
      "trace", po::value<std::string>()->default_value("")->value_name("FILE"),
      "write a timeline per rank for Perfetto or chrome://tracing: FILE with the rank before its ending")(
      "log-hash", "write a hash of the whole state after each step to hashes.csv in the run folder")(
      "fresh", "start over; what is in the run folder goes into its archive-NNN, nothing is deleted");
  return description;
}

void print_help() {
  fmt::print(
      "usage: lockstep train CONFIG [--section.key=value ...] [OPTIONS]\n\n"
      "Trains, or goes on where an earlier attempt stopped. One process per device, started by srun or "
      "mpirun;\n"
      "without either it is one plain process. CONFIG is an INI file; the command line beats it. All that a\n"
      "run leaves is in its run folder (run.dir).\n\n"
      "  lockstep train run.conf --optim.lr=0.01\n"
      "  mpirun -n 2 lockstep train run.conf\n"
      "  sbatch sbatch/train.sbatch run.conf        the script that keeps at it\n\n");
  std::ostringstream text;
  text << flags();
  fmt::print("{}\nKeys, with their defaults:\n", text.str());
  std::string section;
  for (const train::Key& key : train::config_keys()) {
    const std::string of = key.name.substr(0, key.name.find('.'));
    if (of != section) fmt::print("\n");
    section = of;
    fmt::print("  {:<22} {:<13} {}{}\n", key.name, key.default_text.empty() ? "-" : key.default_text,
               key.help, key.change == train::Change::refused ? " *" : "");
  }
  fmt::print(
      "\n  * fixed for the life of a run: a resume with another value is refused unless --fork is given.\n\n"
      "TERM, INT, USR1 and USR2 mean: save and leave. Exit codes: 0 finished, 75 saved and to be requeued;\n"
      "`lockstep --help` lists all. docs/user-guide.md begins with a first run.\n");
}

std::string cell(const std::string& text) {
  return text.empty() ? "empty" : fmt::format("`{}`", text);
}

void print_reference() {
  fmt::print(
      "# Configuration\n\n"
      "Made by `make docs` from the program's own table of keys (`lockstep train --reference`); do not "
      "edit.\n\n"
      "A configuration is an INI file with the sections below; `--section.key=value` on the command line "
      "beats it.\n"
      "`lockstep train CONFIG --print-config` shows every value and where it came from. A key marked *fixed* "
      "belongs\n"
      "to the run: a resume with another value is refused unless `--fork` is given. The others may change "
      "from one\n"
      "attempt to the next, and the change is logged.\n\n"
      "What keys do together: [models and optimizers](models-and-optimizers.md), [data](your-data.md),\n"
      "[bad steps, early stop, best checkpoint](anomalies.md). An example is `sbatch/fashion-mnist.conf`.\n");
  std::string section;
  for (const train::Key& key : train::config_keys()) {
    const auto dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      section = key.name.substr(0, dot);
      fmt::print("\n## [{}]\n\n| key | default | meaning | |\n| --- | --- | --- | --- |\n", section);
    }
    fmt::print("| `{}` | {} | {} | {} |\n", key.name.substr(dot + 1), cell(key.default_text), key.help,
               key.change == train::Change::refused ? "fixed" : "");
  }
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
  ConfigWords words = sort_config_words(args);
  po::variables_map given;
  try {
    po::options_description known = flags();
    known.add_options()("config", po::value<std::string>());
    po::positional_options_description plain;
    plain.add("config", 1);
    const auto style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(words.options)
                  .options(known)
                  .positional(plain)
                  .style(static_cast<int>(style))
                  .run(),
              given);
  } catch (const po::error& problem) {
    throw Error(ExitCode::usage,
                fmt::format("lockstep train: {}; see lockstep train --help", problem.what()));
  }
  if (given.count("help") != 0) {
    print_help();
    return 0;
  }
  if (given.count("reference") != 0) {
    print_reference();
    return 0;
  }
  if (given.count("config") == 0) {
    throw Error(ExitCode::usage,
                "lockstep train: which configuration? usage: lockstep train CONFIG [--key=value ...]");
  }
  if (given.count("device") != 0) {
    words.overrides.push_back("--train.device=" + given["device"].as<std::string>());
  }
  const auto resolved = train::resolve_config(given["config"].as<std::string>(), words.overrides);
  if (given.count("check") != 0) fmt::print(stderr, "lockstep: {}\n", train::check(resolved));
  if (given.count("print-config") != 0) fmt::print("{}", train::to_ini(resolved, true));
  if (given.count("print") != 0) return print_value(resolved, given["print"].as<std::string>());
  if (given.count("check") != 0 || given.count("print-config") != 0) return 0;
  return train::launch(resolved, {given.count("fresh") != 0, given.count("fork") != 0,
                                  given["trace"].as<std::string>(), given.count("log-hash") != 0});
}

}  // namespace lockstep::cli
