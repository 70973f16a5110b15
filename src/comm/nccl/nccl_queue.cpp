#include "comm/nccl/nccl_queue.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <tuple>
#include <utility>

#include "comm/host_collectives.h"
#include "comm/nccl/ras.h"
#include "core/clock.h"
#include "core/error.h"
#include "device/cuda/check.h"
#include "device/cuda/timeline.h"

namespace lockstep::comm::nccl {

namespace {

using device::cuda::check;
using device::cuda::Event;

constexpr std::chrono::microseconds nap(50);

struct Late : Error {
  explicit Late(const std::string& text) : Error(ExitCode::peer_failed, text) {}
};

}  // namespace

struct Queue::Call {
  std::int64_t number;
  std::string what;
  std::vector<device::Tensor> tensors;
  std::unique_ptr<Event> begin;  // where all that it comes behind is done
  std::unique_ptr<Event> end;    // null until all its work is queued, and once it is known to be done
  bool waited_for = false;
  bool done = false;
};

class Queue::Work final : public Pending::Work {
 public:
  Work(std::shared_ptr<Queue> queue, std::shared_ptr<Call> call)
      : queue_(std::move(queue)), call_(std::move(call)) {}
  bool done() override { return queue_->is_done(*call_); }
  void wait() override { queue_->let_device_wait_for(*call_); }

 private:
  std::shared_ptr<Queue> queue_;
  std::shared_ptr<Call> call_;
};

Queue::Queue(std::shared_ptr<Watch> watch, std::unique_ptr<Transport> transport,
             const HostCommunicatorOptions& options)
    : watch_(std::move(watch)),
      options_(options),
      roll_(std::make_unique<RollCall>(std::move(transport), options.limit_seconds, options.grace_seconds)) {
  watch_->add(*this);
}

Queue::~Queue() {
  close();
}

// The roll is called once; whoever comes again gets the same error.
template <typename Step>
void Queue::attempt(const Step& step) {
  try {
    step();
  } catch (const std::exception& error) {
    if (watch_->failed()) throw;
    std::exception_ptr failure = std::current_exception();
    const auto* known = dynamic_cast<const Error*>(&error);
    if (!interrupted_) {
      // While all ranks are still in their calls.
      const std::string known_to_nccl = dynamic_cast<const Late*>(&error) != nullptr ? ask_nccl() : "";
      try {
        roll_->give_up(error.what());
      } catch (const Error& told) {
        // A fault of this rank's own has the better words of its own.
        if (known != nullptr && known->code() == ExitCode::peer_failed) {
          failure = std::make_exception_ptr(Error(ExitCode::peer_failed, told.what() + known_to_nccl));
        }
      }
    }
    watch_->fail(failure);
    std::rethrow_exception(failure);
  }
}

// For the end of an error text.
std::string Queue::ask_nccl() const {
  if (options_.keep_report && !ras_address().empty()) {
    const std::string report = ask_ras(ras_address(), ras_seconds);
    const std::string words = report.empty() ? "" : options_.keep_report(report);
    if (!words.empty()) return "; " + words;
  }
  return how_to_ask_nccl();
}

void Queue::meet() {
  attempt([&] {
    const double deadline = monotonic_seconds() + options_.start_seconds;
    roll_->enter(0, "the beginning of NCCL");
    ncclUniqueId id{};
    if (roll_->rank() == 0) {
      if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess)
        throw Error(ExitCode::peer_failed, words_of(result, "ncclGetUniqueId"));
    }
    collectives::broadcast(*roll_, std::as_writable_bytes(std::span(&id, 1)), 0, deadline);
    handle_.begin(id, roll_->rank(), roll_->size());
    settle(deadline, options_.start_seconds);
  });
}

// What the roll call says of this rank.
void Queue::describe() {
  if (calls_.empty()) {
    roll_->enter(number_, "done, and no other since");
  } else {
    const Call& first = *calls_.front();
    // In passing that means nothing.
    const bool long_ago = monotonic_seconds() > since_ + options_.limit_seconds / 2;
    const bool is_held_up = long_ago && first.end && !first.begin->done();
    roll_->enter(first.number, first.what + (is_held_up ? ", to which its GPU has not come" : ""));
  }
}

// Where the device has not come to the call, it is this rank for which others may wait.
bool Queue::waits_for_peers() const {
  return !calls_.empty() && calls_.front()->end && calls_.front()->begin->done();
}

std::string Queue::late(double limit) const {
  return fmt::format("{} within {:g} s",
                     calls_.empty() || waits_for_peers() ? "not done" : "its GPU has not come to it", limit);
}

// The caller comes, and waits for nobody.
void Queue::go_on() {
  counted_.reset();
  describe();
  if (interrupted_) roll_->look_around();
}

void Queue::count_wait() {
  attempt([&] {
    retire();
    if (!waits_for_peers()) {
      counted_.reset();
    } else if (!counted_) {
      counted_.emplace(*roll_->waits());
    }
  });
}

void Queue::retire() {
  while (!calls_.empty() && calls_.front()->end && calls_.front()->end->done()) {
    Call& call = *calls_.front();
    call.done = true;
    call.tensors.clear();
    events_.push_back(std::move(call.begin));
    events_.push_back(std::move(call.end));
    calls_.pop_front();
    since_ = monotonic_seconds();
  }
}

void Queue::look() {
  attempt([&] {
    retire();
    describe();
    handle_.is_settled();
    if (!calls_.empty() && monotonic_seconds() > since_ + options_.limit_seconds)
      throw Late(late(options_.limit_seconds));
    roll_->look_around();
  });
}

void Queue::settle(double deadline, double limit) {
  if (handle_.is_settled()) return;
  const WaitCount counted(*roll_->waits());
  do {
    if (monotonic_seconds() > deadline) throw Late(late(limit));
    roll_->look_around();
    std::this_thread::sleep_for(nap);
  } while (!handle_.is_settled());
}

std::unique_ptr<Event> Queue::place_in_stream() {
  std::unique_ptr<Event> event;
  if (events_.empty()) {
    event = std::make_unique<Event>();
  } else {
    event = std::move(events_.back());
    events_.pop_back();
  }
  event->record(watch_->stream());
  return event;
}

Pending Queue::start(std::string what, std::vector<device::Tensor> tensors,
                     const std::function<void()>& run) {
  watch_->check();
  const auto call = std::make_shared<Call>();
  attempt([&] {
    retire();
    if (calls_.empty()) since_ = monotonic_seconds();
    call->number = ++number_;
    call->what = std::move(what);
    call->tensors = std::move(tensors);
    calls_.push_back(call);
    go_on();
    place_.record(watch_->compute());
    watch_->stream().wait_for(place_.get());
    call->begin = place_in_stream();
    {
      const device::cuda::Mark mark(watch_->device().timeline(), Row::gpu_communication, call->what,
                                    "communication", watch_->stream().get());
      run();
    }
    call->end = place_in_stream();
  });
  return Pending(std::make_shared<Work>(shared_from_this(), call));
}

void Queue::run_nccl(const char* name, const std::function<ncclResult_t(ncclComm_t)>& function) {
  handle_.call(name, function);
  settle(monotonic_seconds() + options_.limit_seconds, options_.limit_seconds);
}

// Until all calls are done.
void Queue::drain() {
  for (retire(); !calls_.empty(); retire()) {
    watch_->check();
    count_wait();
    std::this_thread::sleep_for(nap);
  }
  counted_.reset();
}

void Queue::barrier() {
  watch_->check();
  attempt([&] {
    drain();
    roll_->enter(++number_, "barrier");
    const WaitCount counted(*roll_->waits());
    collectives::barrier(*roll_, monotonic_seconds() + options_.limit_seconds);
  });
}

void Queue::announce(const device::Tensor& buffer) {
  if (buffer.bytes() == 0) return;
  attempt([&] { handle_.announce(buffer.data(), buffer.bytes()); });
  announced_.push_back(buffer);
}

void Queue::interrupt() noexcept {
  interrupted_ = true;
  roll_->interrupt();
}

void Queue::tell(const std::string& reason) noexcept {
  if (!watch_ || watch_->failed() || interrupted_) return;
  try {
    roll_->depart(reason);
    roll_->look_around();
  } catch (const std::exception&) {
    // It always ends so.
  }
}

bool Queue::is_done(const Call& call) {
  if (!call.done && !watch_) std::rethrow_exception(failure_);
  if (!call.done) {
    watch_->check();
    attempt([&] {
      retire();
      if (!call.done) go_on();
    });
  }
  return call.done;
}

void Queue::let_device_wait_for(Call& call) {
  if (is_done(call)) return;
  attempt([&] { check(cudaStreamWaitEvent(watch_->compute(), call.end->get(), 0), "cudaStreamWaitEvent"); });
  call.waited_for = true;
}

// Collective in NCCL, but bounded: a rank that is late or gone costs some seconds.
void Queue::end_handle() {
  const double end = monotonic_seconds() + options_.grace_seconds;
  handle_.begin_end();
  while (!handle_.is_settled()) {
    if (monotonic_seconds() > end) return;
    std::this_thread::sleep_for(nap);
  }
  handle_.end();
}

void Queue::close() noexcept {
  if (!watch_) return;
  try {
    if (!watch_->failed() && !interrupted_ && std::uncaught_exceptions() == 0) {
      retire();
      if (calls_.empty() || calls_.back()->waited_for) drain();
      if (calls_.empty()) end_handle();
    }
  } catch (const std::exception&) {
    // Those who wait for a call get the error; there is nobody else to tell.
  }
  handle_.abort();
  failure_ = std::make_exception_ptr(
      Error(ExitCode::peer_failed, "a call was still under way when its communicator was given up"));
  counted_.reset();
  calls_.clear();
  events_.clear();
  announced_.clear();
  watch_->remove(*this);
  // As in HostCommunicator: what MPI may still write to stays as long as the process.
  if (roll_->close()) {
    roll_.reset();
  } else {
    std::ignore = roll_.release();
  }
  watch_.reset();
}

}  // namespace lockstep::comm::nccl
