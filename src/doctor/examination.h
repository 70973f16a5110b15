// `lockstep doctor` on every rank: all probes in turn, the words on rank 0.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "train/config_source.h"

namespace lockstep::doctor {

struct ExaminationOptions {
  std::optional<train::ResolvedConfig> resolved;
  std::string folder;           // where the run's files lie or would lie
  std::string software;         // lines of names and versions
  std::string device = "auto";  // as train.device
  std::set<std::string> only;   // names of probes; empty: all
  bool whole_communication = false;
  bool json = false;
  double limit = 30;  // seconds that a probe or a rank may be late
};

// Collective: brings MPI up, prints on rank 0, takes MPI down. Returns the exit code, the same on all ranks:
// 0 where all works, however slowly; 76 where a rank gives no answer or ranks cannot talk, 73 where the run
// folder cannot be written, else that of the first failure. Where ranks are missing it does not return: the
// process ends with 76.
int examine(const ExaminationOptions& options);

}  // namespace lockstep::doctor
