#include "data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/error.h"
#include "data/assemble.h"
#include "data/row_reader.h"

namespace lockstep::data {

namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

class Loader::Producer {
 public:
  Producer(Dataset dataset, Sampler sampler, LaneRange lanes, Position start, std::int64_t steps_left,
           const AugmentOptions& augment)
      : reader_(std::move(dataset)),
        sampler_(std::move(sampler)),
        augmenter_(make_augmenter(augment, sampler_.config().seed, reader_.dataset().sample_shape())),
        range_(lanes),
        position_(start),
        lane_(lanes.first),
        steps_left_(steps_left) {
    const std::int64_t steps = sampler_.steps_per_epoch();
    if (sampler_.samples() != reader_.dataset().size()) {
      throw Error(ExitCode::internal, fmt::format("the sampler has {} samples, the dataset {}",
                                                  sampler_.samples(), reader_.dataset().size()));
    }
    if (lanes.first < 0 || lanes.first >= lanes.last || lanes.last > sampler_.lanes()) {
      throw Error(ExitCode::bad_config,
                  fmt::format("lanes {} to {} of {} do not exist; use at most global_batch / "
                              "micro_batch ranks",
                              lanes.first, lanes.last - 1, sampler_.lanes()));
    }
    if (start.epoch < 0 || start.step_in_epoch < 0 || start.step_in_epoch > steps) {
      throw Error(ExitCode::bad_config, fmt::format("epoch {} step {} does not exist: an epoch has {} steps",
                                                    start.epoch, start.step_in_epoch, steps));
    }
    if (position_.step_in_epoch == steps) position_ = {start.epoch + 1, 0};
    held_.resize(at(lanes.last - lanes.first));
  }

  bool fill(Batch& batch, const std::stop_token& stop) {
    if (steps_left_ <= 0) return false;
    if (!plan_ || plan_->epoch() != position_.epoch) begin_epoch();
    clear_samples(batch);
    batch.epoch = position_.epoch;
    batch.step_in_epoch = position_.step_in_epoch;
    batch.lane = lane_;
    const std::int64_t begin = position_.step_in_epoch * sampler_.config().micro_batch;
    const std::int64_t end = begin + sampler_.lane_samples(position_.step_in_epoch, lane_);
    Held& held = held_[at(lane_ - range_.first)];
    for (std::int64_t p = begin; p < end && !stop.stop_requested(); ++p) {
      if (!held.has(p)) {
        take(held, plan_->window(lane_, p), stop);
        if (stop.stop_requested()) break;  // the window is not whole
      }
      const std::int64_t sample = held.window.order[at(p - held.window.begin)];
      append_sample(batch, reader_.dataset(), held.stored, held.row[at(sample)], held.ids[at(sample)],
                    augmenter_ ? &*augmenter_ : nullptr);
    }
    advance();
    return true;
  }

  std::int64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }

 private:
  // A window of a lane in memory, its rows in the order of the file.
  struct Held {
    Window window;
    RawRows stored;
    std::vector<std::int64_t> ids;  // of the window's samples, in the order of its blocks
    std::vector<std::int64_t> row;  // where each of them is in `stored`

    bool has(std::int64_t position) const {
      return position >= window.begin && position < window.begin + window.rows;
    }
  };

  void begin_epoch() {
    plan_.emplace(sampler_.plan(position_.epoch));
    for (Held& held : held_) held.window = Window{};
  }

  // Blocks that lie side by side in a file become one read.
  void take(Held& held, Window window, const std::stop_token& stop) {
    struct Run {
      std::int64_t first_id;
      std::int64_t rows;
      std::int64_t first_sample;  // of the window
    };
    std::vector<Run> runs;
    std::int64_t sample = 0;
    for (const Block& block : window.blocks) {
      runs.push_back({block.first_id, block.rows, sample});
      sample += block.rows;
    }
    std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.first_id < b.first_id; });
    held.ids = ids_of(window.blocks);
    held.row.resize(held.ids.size());
    reader_.resize(held.stored, window.rows);
    std::int64_t row = 0;
    for (std::size_t i = 0; i < runs.size() && !stop.stop_requested();) {
      const std::int64_t first_row = row;
      const std::int64_t first_id = runs[i].first_id;
      for (; i < runs.size() && runs[i].first_id == first_id + (row - first_row); ++i) {
        for (std::int64_t j = 0; j < runs[i].rows; ++j) held.row[at(runs[i].first_sample + j)] = row++;
      }
      reader_.read(first_id, row - first_row, held.stored, first_row, stop);
    }
    held.window = std::move(window);
    bytes_read_.store(reader_.bytes_read(), std::memory_order_relaxed);
  }

  void advance() {
    if (++lane_ < range_.last) return;
    lane_ = range_.first;
    --steps_left_;
    if (++position_.step_in_epoch < sampler_.steps_per_epoch()) return;
    position_ = {position_.epoch + 1, 0};
  }

  RowReader reader_;
  const Sampler sampler_;
  const std::optional<Augmenter> augmenter_;
  const LaneRange range_;
  Position position_;
  std::int64_t lane_;
  std::int64_t steps_left_;
  std::optional<EpochPlan> plan_;
  std::vector<Held> held_;
  std::atomic<std::int64_t> bytes_read_ = 0;
};

Loader::Loader(Dataset dataset, Sampler sampler, LaneRange lanes, Position start, std::size_t depth,
               std::int64_t steps, const AugmentOptions& augment, Trace* trace)
    : producer_(
          std::make_unique<Producer>(std::move(dataset), std::move(sampler), lanes, start, steps, augment)),
      prefetcher_(
          [producer = producer_.get(), trace](Batch& batch, const std::stop_token& stop) {
            const Span span(trace, "read", "data", std::nullopt, Row::loader);
            return producer->fill(batch, stop);
          },
          depth) {}

Loader::~Loader() = default;

std::optional<Batch> Loader::next(std::chrono::milliseconds limit) {
  return prefetcher_.next(limit);
}

void Loader::recycle(Batch&& batch) {
  prefetcher_.recycle(std::move(batch));
}

std::int64_t Loader::bytes_read() const {
  return producer_->bytes_read();
}

}  // namespace lockstep::data
