#include "train/data_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

#include "comm/agreement.h"
#include "core/clock.h"
#include "core/text.h"
#include "train/checked_files.h"
#include "train/stop.h"

namespace lockstep::train {

namespace {

// Pieces of a rank between two looks at the others and at the stop requests.
constexpr std::int64_t pieces_per_round = 4;

struct Files {
  std::string text;    // as they are now
  bool known = false;  // to be good, as rank 0 notes it
};

Files look_at_files(const DataCheckSetting& setting, const data::Dataset& dataset, const std::string& name,
                    const std::filesystem::path& note, data::ContentDepth depth) {
  Files files;
  std::int64_t known = 0;
  comm::agree(setting.comm, fmt::format("look at the {} data", name), [&] {
    files.text = files_text(dataset);
    if (setting.comm.rank() == 0) known = already_checked(note, files.text, depth) ? 1 : 0;
  });
  setting.comm.broadcast(std::as_writable_bytes(std::span(&known, 1)), 0);
  files.known = known != 0;
  return files;
}

enum class Verdict { good, stopped };

// Each rank looks at a contiguous share. All make the same number of rounds, whatever they find.
Verdict look_at_all(const DataCheckSetting& setting, const data::Dataset& dataset, const std::string& name,
                    data::ContentCheck& check) {
  const std::int64_t size = dataset.size();
  const std::int64_t ranks = setting.comm.size();
  std::int64_t next = size * setting.comm.rank() / ranks;
  const std::int64_t end = size * (setting.comm.rank() + 1) / ranks;
  const std::int64_t longest = (size + ranks - 1) / ranks;
  const std::int64_t rounds =
      (longest + pieces_per_round * check.piece() - 1) / (pieces_per_round * check.piece());
  std::exception_ptr fault;
  for (std::int64_t round = 0; round < rounds; ++round) {
    setting.watchdog.enter(Phase::start, 0);
    try {
      for (std::int64_t i = 0; i < pieces_per_round && next < end && !any(local_votes(false)); ++i) {
        next = check.check(next, end);
      }
    } catch (const std::exception&) {
      fault = std::current_exception();
    }
    std::array<std::int64_t, 2> found = {any(local_votes(setting.deadline_near())) ? 1 : 0, fault ? 1 : 0};
    setting.comm.all_reduce_sum(std::span<std::int64_t>(found));
    if (found[1] > 0) {
      comm::agree(setting.comm, fmt::format("use the {} data", name), [&] {
        if (fault) std::rethrow_exception(fault);
      });
    }
    if (found[0] > 0) return Verdict::stopped;
  }
  return Verdict::good;
}

}  // namespace

data::AugmentOptions augment_options(const Config& config) {
  return {config.data.crop_padding, config.data.flip};
}

void check_fits(const Config& config, const data::Dataset& train) {
  const bool numbers = train.target_width() > 0;
  if (config.train.loss == "cross_entropy" && numbers) {
    throw Error(
        ExitCode::bad_config,
        fmt::format("train.loss = cross_entropy needs class numbers, but dataset y in {} holds {} (width "
                    "{}): set train.loss = mse, or store y as uint8 or int64",
                    train.folder().string(), data::name_of(train.shards().front().y.type),
                    train.target_width()));
  }
  if (config.train.loss == "mse" && !numbers) {
    throw Error(
        ExitCode::bad_config,
        fmt::format("train.loss = mse needs numbers to predict, but dataset y in {} holds class numbers "
                    "({}): set train.loss = cross_entropy, or store y as float32",
                    train.folder().string(), data::name_of(train.shards().front().y.type)));
  }
  if (!numbers && train.classes() < 2) {
    throw Error(
        ExitCode::bad_config,
        fmt::format("the data in {} have {} class: a classifier needs at least 2 classes; correct y or "
                    "attribute classes",
                    train.folder().string(), train.classes()));
  }
  (void)data::make_augmenter(augment_options(config), config.run.seed, train.sample_shape());
}

std::optional<data::ContentDepth> content_depth(const Config& config) {
  if (config.data.check == "layout") return std::nullopt;
  return config.data.check == "full" ? data::ContentDepth::x_and_y : data::ContentDepth::y;
}

void check_content(const DataCheckSetting& setting, const data::Dataset& dataset, const std::string& name,
                   data::ContentDepth depth) {
  const auto note = setting.folder / name;
  // Before anything is read: what changes from here on is another file to the next attempt.
  const Files files = look_at_files(setting, dataset, name, note, depth);
  if (files.known) return;

  const double begin = monotonic_seconds();
  data::ContentCheck check(dataset, depth);
  if (look_at_all(setting, dataset, name, check) == Verdict::stopped) return;
  if (check.reads_x()) {
    setting.log.info(fmt::format("checked all {} {} samples, {} in {:.1f} s", dataset.size(), name,
                                 human_bytes(static_cast<double>(dataset.bytes())),
                                 monotonic_seconds() - begin));
  }
  comm::agree(setting.comm, "note what was checked", [&] {
    if (setting.comm.rank() != 0) return;
    setting.fence();
    remember_checked(note, files.text, depth);
  });
}

}  // namespace lockstep::train
