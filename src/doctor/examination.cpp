#include "doctor/examination.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "comm/host_communicator.h"
#include "comm/mpi_session.h"
#include "comm/mpi_transport.h"
#include "core/process_exit.h"
#include "core/text.h"
#include "doctor/advice.h"
#include "doctor/alarm.h"
#include "doctor/network.h"
#include "doctor/words.h"

namespace lockstep::doctor {

namespace {

int threads_of(const ExaminationOptions& options, const slurm::Allocation& allocation) {
  if (options.resolved && options.resolved->config.train.threads > 0) {
    return static_cast<int>(options.resolved->config.train.threads);
  }
  return std::max(1, allocation.cpus_per_task);
}

void note_problem(RankFacts& own, ExitCode code, const std::string& text) {
  if (!own.problem.empty()) return;  // what follows from the first one
  own.problem = text;
  own.code = code;
}

void run_stage(const Stage& stage, Context& context, RankFacts& own) {
  try {
    stage.work(context, own.facts);
  } catch (const comm::Transport::TimeOut& late) {
    note_problem(own, ExitCode::peer_failed,
                 fmt::format("no word from rank {} on {} within {:.0f} s", late.peer,
                             context.meeting.host(late.peer), context.patience.limit()));
  } catch (const Error& error) {
    note_problem(own, error.code(), error.what());
  } catch (const std::exception& error) {
    note_problem(own, ExitCode::internal, error.what());
  }
}

// Leaves the facts of all ranks in the findings.
void run_probe(const Probe& probe, Context& context) {
  RankFacts own;
  bool failed = false;
  for (const Stage& stage : probe.stages()) {
    if (!failed || stage.even_after_failure) run_stage(stage, context, own);
    const auto texts = context.meeting.gather(probe.name, to_text(own));
    std::vector<RankFacts> all;
    for (int r = 0; r < context.size(); ++r) {
      all.push_back(from_text(texts[static_cast<std::size_t>(r)], r, context.meeting.host(r)));
    }
    failed = std::any_of(all.begin(), all.end(), [](const RankFacts& rank) { return !rank.problem.empty(); });
    context.findings[std::string(probe.name)] = std::move(all);
  }
}

Section tell(const Probe& probe, const Findings& findings) {
  Section section;
  section.name = probe.name;
  section.ranks = findings.find(probe.name)->second;
  probe.report(findings, section);
  tell_problems(section);
  return section;
}

void print(const Report& report, bool json) {
  fmt::print("{}", json ? to_json(report) : to_words(report));
}

// What is told where MPI does not come up: nothing else can be, so what usually is the matter with it.
std::string words_of_start(const slurm::Allocation& allocation, double limit) {
  std::vector<std::string> names;
  for (const Interface& interface : interfaces()) {
    names.push_back(fmt::format("{} {}/{}", interface.name, interface.address, interface.prefix));
  }
  return fmt::format(
      "rank {} on {}: MPI has not come up within {:.0f} s: a rank has not started, or MPI tries an interface "
      "that "
      "does not lead to it; of {} name the one that does in OMPI_MCA_btl_tcp_if_include",
      allocation.rank_hint, allocation.node, limit, fmt::join(names, ", "));
}

// A launcher ends all ranks as soon as one has left: rank 0 speaks first.
[[noreturn]] void leave_after_first(int rank) {
  constexpr std::chrono::seconds time_to_speak{2};
  if (rank != 0) std::this_thread::sleep_for(time_to_speak);
  comm::MpiSession::abandon(ExitCode::peer_failed);
}

// What is known of a probe at whose end ranks are missing: the facts of its stages so far, and who is
// missing.
Section tell_interrupted(const Probe& probe, const Findings& findings, const Error& error) {
  Section section;
  if (findings.find(probe.name) != findings.end()) section = tell(probe, findings);
  section.name = probe.name;
  section.fail(error.code(), error.what());
  return section;
}

bool is_wanted(const Probe& probe, const ExaminationOptions& options) {
  const auto is_named = [&](const Probe& some) {
    return options.only.empty() || options.only.count(std::string(some.name)) != 0;
  };
  const auto needs_it = [&](const Probe& other) { return other.needs_device && is_named(other); };
  return is_named(probe) || (probe.name == "device" && std::ranges::any_of(probes(), needs_it));
}

ExitCode run_probes(const ExaminationOptions& options, Context& context) {
  Report report;
  for (const Probe& probe : probes()) {
    if (!is_wanted(probe, options)) continue;
    try {
      run_probe(probe, context);
    } catch (const Error& error) {
      if (context.rank() == 0) {
        report.sections.push_back(tell_interrupted(probe, context.findings, error));
        print(report, options.json);
      }
      throw;
    }
    if (context.rank() == 0) report.sections.push_back(tell(probe, context.findings));
  }
  report.advice = advise(context.findings);
  if (context.rank() == 0) print(report, options.json);
  // The others leave when rank 0 has told what there is, with the code that it has.
  const auto codes = context.meeting.gather("the end", fmt::format("{}", static_cast<int>(report.code())));
  return static_cast<ExitCode>(parse_int(codes[0]).value_or(0));
}

}  // namespace

int examine(const ExaminationOptions& options) {
  const slurm::Allocation allocation = slurm::read_allocation(slurm::process_environment());
  auto alarm = std::make_unique<Alarm>(2 * options.limit, words_of_start(allocation, 2 * options.limit));
  auto mpi = std::make_unique<comm::MpiSession>();
  auto group = std::make_unique<comm::MpiGroup>(MPI_COMM_WORLD);
  // A rank that has failed comes to the meeting at once, its peers when they have given up waiting for it.
  Meeting meeting(comm::make_mpi_transport(*group), 2 * options.limit);
  auto messages = comm::make_mpi_transport(*group);
  std::map<comm::Algorithm, std::unique_ptr<comm::HostCommunicator>> communicators;
  for (const comm::Algorithm algorithm : comm::algorithms) {
    comm::HostCommunicatorOptions with;
    with.limit_seconds = options.limit;
    with.grace_seconds = options.limit / 2;
    with.algorithm = algorithm;
    communicators[algorithm] =
        std::make_unique<comm::HostCommunicator>(comm::make_mpi_transport(*group), with);
    if (!options.whole_communication) break;
  }
  alarm.reset();

  Patience patience(options.limit);
  Context context{allocation,     options.resolved ? &*options.resolved : nullptr,
                  options.folder, options.software,
                  options.device, threads_of(options, allocation),
                  meeting,        patience,
                  *group,         *messages,
                  communicators,  {}};
  ExitCode code = ExitCode::finished;
  try {
    code = run_probes(options, context);
  } catch (const Error& error) {
    if (meeting.rank() == 0 || dynamic_cast<const AgreedError*>(&error) == nullptr) {
      fmt::print(stderr, "lockstep: error: {}\n", error.what());
    }
    leave_after_first(meeting.rank());
  }
  // MPI takes its leave from the launcher's daemon, which may be part of the trouble.
  exit_within(std::chrono::seconds(10), code);
  std::fflush(nullptr);
  communicators.clear();
  messages.reset();
  return static_cast<int>(code);
}

}  // namespace lockstep::doctor
