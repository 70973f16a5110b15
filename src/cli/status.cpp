#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "slurm/allocation.h"
#include "train/run_folder.h"
#include "train/run_state.h"

namespace lockstep::cli {

namespace po = boost::program_options;

namespace {

struct Found {
  std::string run;
  train::Sight sight;
  train::Judgement judgement;
};

Found look(const std::string& run, const std::string& here) {
  const train::RunFolder folder(run);
  if (!std::filesystem::is_directory(folder.path())) {
    throw Error(ExitCode::missing_input, fmt::format("lockstep status: there is no folder {}", run));
  }
  auto sight = train::look_at(folder, here);
  if (!sight) {
    throw Error(
        ExitCode::missing_input,
        fmt::format("lockstep status: {} is not the folder of a run (run.dir), or none has started in it",
                    run));
  }
  train::Judgement judgement = train::judge(*sight);
  return {run, std::move(*sight), std::move(judgement)};
}

std::string ago(double time) {
  return fmt::format("{} ago", human_seconds(wall_seconds() - time));
}

std::string progress(const train::Status& status) {
  return status.total > 0
             ? fmt::format("{}/{} ({:.0f} %)", status.step, status.total,
                           100.0 * static_cast<double>(status.step) / static_cast<double>(status.total))
             : fmt::format("{}", status.step);
}

bool is_live(train::RunState state) {
  return state == train::RunState::running || state == train::RunState::silent;
}

void print_line(const Found& found) {
  fmt::print("{:<32} {:<8}", found.run, train::name_of(found.judgement.state));
  if (found.sight.status) {
    const train::Status& status = *found.sight.status;
    fmt::print("  step {}", progress(status));
    if (status.loss) fmt::print("  loss {:.4f}", *status.loss);
    if (status.seconds_left && is_live(found.judgement.state)) {
      fmt::print("  {:.0f} samples/s  ETA {}", status.samples_per_second.value_or(0),
                 human_seconds(*status.seconds_left));
    }
  }
  fmt::print("  job {}", found.sight.owner.attempt.job);
  if (!found.judgement.reason.empty()) fmt::print("  {}", found.judgement.reason);
  fmt::print("\n");
}

void print_row(std::string_view name, const std::string& text) {
  fmt::print("  {:<13} {}\n", name, text);
}

std::string gpu_text(const train::Status& status) {
  std::string text;
  const auto add = [&text](const std::optional<double>& value, const auto& words) {
    if (value) text += (text.empty() ? "" : ", ") + words(*value);
  };
  add(status.gpu_utilisation, [](double v) { return fmt::format("{:.0f} % busy", v); });
  add(status.gpu_memory, [](double v) { return human_bytes(v) + " in use"; });
  add(status.gpu_clock, [](double v) { return fmt::format("{:.0f} MHz", v); });
  add(status.gpu_power, [](double v) { return fmt::format("{:.0f} W", v); });
  add(status.gpu_temperature, [](double v) { return fmt::format("{:.0f} C", v); });
  if (!status.gpu_throttled.empty()) text += fmt::format("; slowed by {}", status.gpu_throttled);
  return text;
}

void print_status(const train::Status& status, bool live) {
  print_row("step", fmt::format("{}, epoch {}{}", progress(status), status.epoch,
                                live ? fmt::format("; now in {}", status.phase) : ""));
  if (status.loss) print_row("loss", fmt::format("{:.4f}", *status.loss));
  if (status.learning_rate) print_row("learning rate", fmt::format("{:.4g}", *status.learning_rate));
  if (live && status.samples_per_second && status.seconds_left) {
    print_row("speed", fmt::format("{:.0f} samples/s, ETA {}", *status.samples_per_second,
                                   human_seconds(*status.seconds_left)));
  }
  if (const std::string text = gpu_text(status); live && !text.empty()) print_row("GPU of rank 0", text);
  if (status.evaluation_step) {
    print_row("evaluation",
              fmt::format("after step {}: loss {:.4f}{}", *status.evaluation_step,
                          status.evaluation_loss.value_or(0),
                          status.evaluation_accuracy
                              ? fmt::format(", accuracy {:.2f} %", 100 * *status.evaluation_accuracy)
                              : ""));
  }
  print_row("checkpoint", status.checkpoint_step
                              ? fmt::format("step {}{}", *status.checkpoint_step,
                                            status.checkpoint_time ? ", " + ago(*status.checkpoint_time) : "")
                              : "none yet");
  if (live && !status.stragglers.empty()) print_row("slow", status.stragglers);
  if (live && status.end_time) {
    print_row("time limit", fmt::format("in {}", human_seconds(*status.end_time - wall_seconds())));
  }
  print_row("written", ago(status.written));
}

void print_whole(const Found& found) {
  const train::Attempt& owner = found.sight.owner.attempt;
  fmt::print("{}: {}{}{}\n", found.run, train::name_of(found.judgement.state),
             found.judgement.reason.empty() ? "" : ", ", found.judgement.reason);
  print_row("job",
            fmt::format("{}, restart {}, rank 0 on {}{}", owner.job, owner.restart, owner.node,
                        found.sight.status ? fmt::format(", {} ranks", found.sight.status->ranks) : ""));
  if (found.sight.status) print_status(*found.sight.status, is_live(found.judgement.state));
}

std::string to_json(const Found& found) {
  const train::Attempt& owner = found.sight.owner.attempt;
  return fmt::format(
      R"({{"run":{},"state":{},"reason":{},"job":{},"restart":{},"exit_code":{},"heartbeat_age":{},"status":{}}})",
      json_text(found.run), json_text(train::name_of(found.judgement.state)),
      json_text(found.judgement.reason), json_text(owner.job), owner.restart,
      found.sight.outcome ? fmt::format("{}", static_cast<int>(found.sight.outcome->code)) : "null",
      json_number(found.sight.owner.heartbeat_age),
      found.sight.status ? fmt::format("{{{}}}", train::json_members(*found.sight.status)) : "null");
}

}  // namespace

int status_command(std::span<const std::string> args) {
  po::options_description options("Options");
  std::vector<std::string> runs;
  options.add_options()("help,h", "print this help")(
      "json", "print JSON: an object for one run, an array for several")(
      "run", po::value(&runs)->value_name("DIR"), "a run folder (also as plain words)");
  const po::variables_map given = parse_arguments(args, options, "lockstep status", -1);
  if (given.count("help") != 0) {
    std::ostringstream text;
    text << options;
    fmt::print(
        "usage: lockstep status RUN_DIR... [--json]\n\n"
        "How runs are doing: running, silent (no sign of life for a while), waiting (to be started again),\n"
        "stopped, finished, failed or dead. Several runs take one line each.\n"
        "Exit codes: 0 when it can tell, whatever the state; 66 where there is no run.\n\n{}",
        text.str());
    return 0;
  }
  if (runs.empty())
    throw Error(ExitCode::usage, "lockstep status: usage: lockstep status RUN_DIR... [--json]");

  const std::string here = slurm::read_allocation(slurm::process_environment()).node;
  std::vector<Found> found;
  int code = 0;
  for (const std::string& run : runs) {
    try {
      found.push_back(look(run, here));
    } catch (const Error& error) {
      // Of several, the others are told all the same: the tasks of a job array do not start at once.
      if (runs.size() == 1) throw;
      fmt::print(stderr, "lockstep: error: {}\n", error.what());
      code = static_cast<int>(error.code());
    }
  }
  if (given.count("json") != 0) {
    std::string text;
    for (const Found& one : found) text += (text.empty() ? "" : ",\n ") + to_json(one);
    fmt::print("{}\n", runs.size() == 1 ? text : fmt::format("[{}]", text));
  } else if (runs.size() == 1) {
    print_whole(found.front());
  } else {
    for (const Found& one : found) print_line(one);
  }
  return code;
}

}  // namespace lockstep::cli
