#include "train/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "checkpoint/folder.h"
#include "checkpoint/load.h"
#include "comm/agreement.h"
#include "train/identity.h"

namespace lockstep::train {

namespace {

// Newer ones than the one that is used were damaged. Under another name they are kept, but neither counted as
// good ones, nor looked at again, nor overwritten when the run comes to their step.
void set_damaged_aside(const ResumeSetting& setting, std::int64_t used_step) {
  for (const checkpoint::Entry& entry : checkpoint::list(setting.folder.checkpoints())) {
    if (entry.step <= used_step) continue;
    setting.folder.fence(setting.attempt);
    rename_durably(entry.path, entry.path.parent_path() / ("damaged-" + entry.path.filename().string()));
  }
}

// Another model or optimizer has other tensors, and no --fork can go on from them: it is advised, and
// accepted, only where they fit.
Origin check_identity(const ResumeSetting& setting, const checkpoint::Loaded& loaded, Learner& learner) {
  const checkpoint::State& state = loaded.state();
  const std::string misfit = loaded.misfit(learner.snapshot().views());
  Changes changes;
  comm::agree(setting.comm, "resume", [&] {
    changes = compare_with(state, setting.resolved, setting.train, setting.test);
    if (misfit.empty() && (changes.refused.empty() || setting.fork)) return;
    throw Error(
        ExitCode::bad_config,
        fmt::format("{} holds another run: {}; {} over with --fresh, or give this run another run.dir",
                    setting.folder.path().string(), fmt::join(changes.refused, "; "),
                    misfit.empty() ? "go on with --fork, start"
                                   : fmt::format("its checkpoint does not fit: {}; start", misfit)));
  });
  for (const std::string& change : changes.allowed) {
    setting.log.info(fmt::format("changed since the checkpoint: {}", change));
  }
  for (const std::string& change : changes.refused) setting.log.info(fmt::format("forked: {}", change));
  // Where the old order means nothing any more, the next epoch begins here.
  if (changes.new_order) return {state.step, state.epoch + 1};
  return {int_value(state, "origin_step"), int_value(state, "origin_epoch")};
}

void check_environments(const ResumeSetting& setting, const Learner& learner,
                        const std::optional<std::string>& earlier) {
  const auto all = comm::gather_texts(setting.comm, learner.environment());
  const bool exact = setting.resolved.config.train.reduction == "exact";
  const auto complain = [&](const std::string& text) {
    if (exact) {
      throw AgreedError(
          ExitCode::bad_config,
          fmt::format("train.reduction = exact needs the same environment everywhere: {}; go on where it is "
                      "as before, or set train.reduction = fast, or begin anew with --fresh",
                      text));
    }
    if (setting.comm.rank() == 0) setting.log.warn(fmt::format("{}: results differ in rounding", text));
  };
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != all[0]) {
      complain(fmt::format("rank {} on {} has {}, rank 0 has {}", rank,
                           setting.comm.host(static_cast<int>(rank)), all[rank], all[0]));
      break;
    }
  }
  if (earlier && *earlier != all[0]) {
    complain(fmt::format("the checkpoint was made with {}, this is {}", *earlier, all[0]));
  }
}

void read_into(Learner& learner, comm::Group& comm, const checkpoint::Loaded& loaded) {
  auto snapshot = learner.snapshot();
  loaded.read(comm, snapshot.views());
  // Checkpoints of before there were skipped steps do not tell the updates.
  const checkpoint::State& state = loaded.state();
  learner.restore(snapshot, state.values.contains("updates") ? int_value(state, "updates") : state.step);
  learner.read(state);
}

// Nothing where it is damaged or gone; told by rank 0.
std::optional<checkpoint::Loaded> open_if_intact(const ResumeSetting& setting, std::int64_t step) {
  try {
    return checkpoint::open_named(setting.comm, setting.folder.checkpoints() / checkpoint::file_name(step));
  } catch (const Error& error) {
    // The same on every rank.
    if (error.code() != ExitCode::bad_data && error.code() != ExitCode::missing_input) throw;
    setting.log.agreed_warning(fmt::format("{}; taking the newest intact one", error.what()));
    return std::nullopt;
  }
}

}  // namespace

std::optional<Resumed> resume_newest(const ResumeSetting& setting, Learner& learner) {
  const auto loaded = checkpoint::open_newest(setting.comm, setting.folder.checkpoints(),
                                              [&](const std::string& text) { setting.log.warn(text); });
  if (!loaded) {
    comm::agree(setting.comm, "resume", [&] {
      if (setting.comm.rank() != 0 || checkpoint::list(setting.folder.checkpoints()).empty()) return;
      throw Error(
          ExitCode::bad_data,
          fmt::format("no checkpoint in {} is intact; put a good one there, or start over with --fresh",
                      setting.folder.checkpoints().string()));
    });
    check_environments(setting, learner, std::nullopt);
    return std::nullopt;
  }
  const checkpoint::State& state = loaded->state();
  comm::agree(setting.comm, "set damaged checkpoints aside", [&] {
    if (setting.comm.rank() == 0) set_damaged_aside(setting, state.step);
  });
  const Origin origin = check_identity(setting, *loaded, learner);
  check_environments(setting, learner, text_value(state, "environment"));
  read_into(learner, setting.comm, *loaded);
  return Resumed{state, origin};
}

checkpoint::State restore_earlier(const ResumeSetting& setting, std::int64_t step, Learner& learner) {
  auto loaded = open_if_intact(setting, step);
  if (!loaded) {
    loaded = checkpoint::open_newest(setting.comm, setting.folder.checkpoints(),
                                     [&](const std::string& text) { setting.log.warn(text); });
  }
  if (!loaded) {
    throw AgreedError(ExitCode::bad_data, fmt::format("no checkpoint in {} is intact: nothing to go back to",
                                                      setting.folder.checkpoints().string()));
  }
  read_into(learner, setting.comm, *loaded);
  return loaded->state();
}

}  // namespace lockstep::train
