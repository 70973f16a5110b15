#include "comm/reducer.h"

#include <fmt/format.h>

#include "comm/exact_reducer.h"
#include "core/error.h"

namespace lockstep::comm {

namespace {

class FastReducer final : public Reducer {
 public:
  explicit FastReducer(Group& comm) : comm_(comm) {}

  bool wants_each_lane() const override { return false; }
  void begin_step() override {}
  void add(int, Groups) override {
    throw Error(ExitCode::internal, "the fast reducer takes gradients in finish() alone");
  }
  void finish(Groups gradient) override {
    for (const auto group : gradient) comm_.all_reduce_sum(group);
  }

 private:
  Group& comm_;
};

}  // namespace

std::unique_ptr<Reducer> make_reducer(ReduceMode mode, Group& comm, int lanes) {
  if (comm.size() > lanes) {
    throw Error(ExitCode::bad_config,
                fmt::format("{} ranks for {} lanes (global_batch / micro_batch): use at most {} ranks",
                            comm.size(), lanes, lanes));
  }
  if (mode == ReduceMode::exact) return std::make_unique<ExactReducer>(comm, lanes);
  return std::make_unique<FastReducer>(comm);
}

}  // namespace lockstep::comm
