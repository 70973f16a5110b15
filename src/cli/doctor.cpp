#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/version.h"
#include "core/error.h"
#include "core/text.h"
#include "doctor/examination.h"
#include "doctor/probe.h"
#include "doctor/words.h"
#include "slurm/allocation.h"

namespace lockstep::cli {

namespace po = boost::program_options;

namespace {

void print_help(const po::options_description& options) {
  std::ostringstream text;
  text << options;
  fmt::print(
      "usage: lockstep doctor [CONFIG] [--section.key=value ...] [OPTIONS]\n\n"
      "Measures what an allocation can do, and says what to change. Started like the training it is "
      "about:\n\n"
      "  srun lockstep doctor run.conf\n"
      "  mpirun -n 2 lockstep doctor run.conf --comm\n\n"
      "It takes about ten seconds, writes a few files into the run folder, or the folder that it would be "
      "in, and removes them.\n\n{}\nWhat it "
      "looks at:\n",
      text.str());
  for (const doctor::Probe& probe : doctor::probes()) fmt::print("  {:<14} {}\n", probe.name, probe.summary);
  fmt::print(
      "\nExit codes: 0 it works, perhaps slowly; 73 the run folder cannot be written; 76 a rank gives no "
      "answer, or\n"
      "ranks cannot talk to each other; 66, 78 the data or the configuration cannot be used. docs/doctor.md "
      "tells more.\n");
}

std::set<std::string> chosen_probes(const std::string& list) {
  std::set<std::string> chosen;
  std::vector<std::string> known;
  for (const doctor::Probe& probe : doctor::probes()) known.emplace_back(probe.name);
  auto words = split(list, ',');
  if (words.empty()) words.emplace_back();
  for (const std::string& word : words) {
    if (word.empty()) {
      throw Error(ExitCode::usage,
                  fmt::format("lockstep doctor: --only \"{}\": the name of a part is empty", list));
    }
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      const auto near = nearest(word, known);
      throw Error(ExitCode::usage,
                  fmt::format("lockstep doctor: --only {}: there is no such part{}", word,
                              near ? fmt::format("; did you mean {}?", *near) : std::string()));
    }
    chosen.insert(word);
  }
  return chosen;
}

// Whoever reads --json waits for an object; of several ranks one speaks.
void print_refusal(const Error& error) {
  if (slurm::read_allocation(slurm::process_environment()).rank_hint != 0) return;
  doctor::Section section;
  section.name = "configuration";
  section.fail(error.code(), error.what());
  fmt::print("{}", doctor::to_json({{section}, {}}));
  std::fflush(stdout);
}

}  // namespace

int doctor_command(std::span<const std::string> args) {
  po::options_description options("Options");
  std::string config;
  options.add_options()("help,h", "print this help")(
      "comm", "all-reduce in every size, from 4 KiB to 256 MiB, and way")(
      "json", "print JSON: what was found on each rank, and what is said about it")(
      "device", po::value<std::string>()->value_name("KIND"),
      "auto, cpu or cuda: short for --train.device=KIND; without CONFIG, auto")(
      "dir", po::value<std::string>()->default_value("")->value_name("DIR"),
      "measure the file system of this folder; default: run.dir of CONFIG, else this folder")(
      "only", po::value<std::string>()->value_name("PART,..."), "only these parts (below)")(
      "limit", po::value<double>()->default_value(30, "30")->value_name("SECONDS"),
      "how long a part may take, or a rank be late, before it is given up")(
      "config", po::value(&config)->value_name("CONFIG"), "the run's configuration (also as a plain word)");
  ConfigWords words = sort_config_words(args);
  const po::variables_map given = parse_arguments(words.options, options, "lockstep doctor", 1, "config");
  if (given.count("help") != 0) {
    print_help(options);
    return 0;
  }
  doctor::ExaminationOptions chosen;
  chosen.limit = given["limit"].as<double>();
  if (!(chosen.limit >= 1 && chosen.limit <= 3600)) {
    throw Error(ExitCode::usage,
                fmt::format("lockstep doctor: --limit {}: wanted 1 to 3600 seconds", chosen.limit));
  }
  if (given.count("device") != 0) chosen.device = given["device"].as<std::string>();
  if (chosen.device != "auto" && chosen.device != "cpu" && chosen.device != "cuda") {
    throw Error(ExitCode::usage,
                fmt::format("lockstep doctor: --device {}: wanted auto, cpu or cuda", chosen.device));
  }
  if (!config.empty()) {
    if (given.count("device") != 0) words.overrides.push_back("--train.device=" + chosen.device);
    try {
      chosen.resolved = train::resolve_config(config, words.overrides);
    } catch (const Error& error) {
      if (given.count("json") != 0) print_refusal(error);
      throw;
    }
  } else if (!words.overrides.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("lockstep doctor: {} belongs to a configuration, and none is given",
                            words.overrides.front()));
  }
  if (chosen.resolved) chosen.device = chosen.resolved->config.train.device;
  if (given.count("only") != 0) chosen.only = chosen_probes(given["only"].as<std::string>());
  chosen.folder = given["dir"].as<std::string>();
  if (chosen.folder.empty()) chosen.folder = chosen.resolved ? chosen.resolved->config.run.dir : ".";
  chosen.software = version_text();
  chosen.whole_communication = given.count("comm") != 0;
  chosen.json = given.count("json") != 0;
  return doctor::examine(chosen);
}

}  // namespace lockstep::cli
