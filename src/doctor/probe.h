// A probe looks at one thing: on every rank it finds facts, and rank 0 puts those of all ranks into words.
// Adding one is adding a file and its name in probes.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/choice.h"
#include "comm/host_communicator.h"
#include "comm/mpi_group.h"
#include "comm/transport.h"
#include "core/error.h"
#include "doctor/compute_device.h"
#include "doctor/facts.h"
#include "doctor/meeting.h"
#include "doctor/patience.h"
#include "slurm/allocation.h"
#include "train/config_source.h"

namespace lockstep::doctor {

struct Row {
  std::string name;
  std::string text;
};

// Of two ways to end the one that is told outside: a rank that is missing, then an output that cannot be
// written, then anything else.
ExitCode more_serious(ExitCode a, ExitCode b);

// What rank 0 says about one subject.
struct Section {
  std::string name;
  std::vector<Row> rows;
  std::vector<std::string> warnings;   // what will hurt
  std::vector<std::string> failures;   // what cannot work, or could not be found out
  ExitCode code = ExitCode::finished;  // what the examination ends with on account of it
  std::vector<RankFacts> ranks;

  void fail(ExitCode with, std::string text) {
    failures.push_back(std::move(text));
    code = more_serious(code, with);
  }
};

// The facts that every rank knows of all ranks, by probe.
using Findings = std::map<std::string, std::vector<RankFacts>, std::less<>>;

struct Context {
  const slurm::Allocation& allocation;
  const train::ResolvedConfig* resolved;  // null: no configuration was given
  std::string folder;                     // where the run's files would lie
  std::string software;                   // lines of names and versions
  std::string device_kind;                // as train.device
  int threads;                            // of one rank
  Meeting& meeting;
  Patience& patience;
  const comm::MpiGroup& group;  // of all ranks
  comm::Transport& messages;    // for what a probe says to other ranks; used by one probe at a time
  // The one that training takes first; where all are asked for, one for each algorithm after it.
  const std::map<comm::Algorithm, std::unique_ptr<comm::HostCommunicator>>& communicators;
  Findings findings;  // of the probes before, and of the stages of this one before
  // Of this rank, from the device probe; none, where that has failed or has not run: whoever would compute on
  // it finds nothing.
  std::optional<ComputeDevice> device = {};
  bool on_gpu() const { return device && device->gpu; }
  // Sums are asked for in every way and size.
  bool measures_all() const { return communicators.size() > 1; }

  int rank() const { return meeting.rank(); }
  int size() const { return meeting.size(); }
};

// A part of a probe. It adds to this rank's facts; what it throws is told as the probe's failure on this
// rank, and its further stages are left out on all ranks, so that nobody waits for one that has given up.
// Between stages all ranks meet, and Context::findings then has everybody's facts so far. What waits for
// other ranks ends within Patience::limit() and half of it: before those that have given up are tired
// of waiting at the meeting.
struct Stage {
  std::function<void(Context& context, Facts& mine)> work;
  bool even_after_failure = false;  // it clears up
};

struct Probe {
  std::string_view name;
  std::string_view summary;  // for --help
  std::vector<Stage> (*stages)();
  // On rank 0, from data alone. `section.ranks` are the facts of all ranks.
  void (*report)(const Findings& findings, Section& section);
  bool needs_device = false;  // the device probe runs before it, even if only this one is asked for
};

std::span<const Probe> probes();

}  // namespace lockstep::doctor
