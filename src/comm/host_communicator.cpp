#include "comm/host_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/host_collectives.h"
#include "comm/wait_count.h"
#include "core/clock.h"
#include "core/error.h"

namespace lockstep::comm {

namespace {

std::span<std::byte> bytes_of(const device::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data()), tensor.bytes()};
}

}  // namespace

// What has been asked for and not yet been done, in order; done by a thread of its own, or by whoever waits.
class HostCommunicator::Queue {
 public:
  class Call final : public Pending::Work {
   public:
    Call(std::shared_ptr<Queue> queue, std::string what, std::function<void(double)> run)
        : queue_(std::move(queue)), what_(std::move(what)), run_(std::move(run)) {}
    bool done() override { return queue_->is_done(*this); }
    void wait() override { queue_->wait_for(*this); }

   private:
    friend class Queue;
    std::shared_ptr<Queue> queue_;
    std::string what_;
    std::function<void(double)> run_;
    bool done_ = false;
  };

  Queue(RollCall& transport, double limit)
      : transport_(transport), waits_(transport.waits()), limit_(limit) {}

  std::shared_ptr<Call> push(std::shared_ptr<Call> call) {
    const std::lock_guard guard(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    calls_.push_back(call);
    changed_.notify_all();
    return call;
  }

  void set_background(bool background) {
    if (background == thread_.joinable()) return;
    if (background) {
      thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
    } else {
      thread_ = {};
    }
  }

  void abort() noexcept { transport_.interrupt(); }

  // Whoever uses the transport just now tells the others: the thread, or the caller.
  void tell(const std::string& reason) {
    constexpr std::chrono::milliseconds patience{1500};
    std::unique_lock guard(mutex_);
    if (failure_) return;
    transport_.depart(reason);
    if (!thread_.joinable()) {
      tell_others(reason);
      failure_ = std::make_exception_ptr(Error(ExitCode::peer_failed, reason));
      return;
    }
    // The thread may be in a call, and comes to this one else.
    calls_.push_back(
        std::make_shared<Call>(nullptr, "departure", [this](double) { transport_.look_around(); }));
    changed_.notify_all();
    changed_.wait_for(guard, patience, [&] { return failure_ != nullptr; });
  }

  // Nothing of the communicator is touched afterwards.
  void close() {
    {
      const std::lock_guard guard(mutex_);
      if (!calls_.empty()) abort();
      if (!failure_) {
        failure_ = std::make_exception_ptr(
            Error(ExitCode::peer_failed, "a call was still under way when its communicator was given up"));
      }
    }
    set_background(false);
  }

  // Once the transport is gone: calls and queue know each other.
  void forget() {
    const std::lock_guard guard(mutex_);
    calls_.clear();
  }

 private:
  bool is_done(const Call& call) {
    const std::lock_guard guard(mutex_);
    if (!call.done_ && failure_) std::rethrow_exception(failure_);
    return call.done_;
  }

  void wait_for(const Call& call) {
    std::unique_lock guard(mutex_);
    const WaitCount counted(*waits_);
    if (thread_.joinable()) {
      changed_.wait(guard, [&] { return call.done_ || failure_; });
    } else {
      while (!call.done_ && !failure_) run_first(guard);
    }
    if (!call.done_) std::rethrow_exception(failure_);
  }

  void work(const std::stop_token& stop) {
    std::unique_lock guard(mutex_);
    while (changed_.wait(guard, stop, [&] { return !calls_.empty() || failure_; }) && !failure_)
      run_first(guard);
  }

  // The first call stays in the queue until it is done, and for good where it fails: messages that are still
  // under way may know its memory.
  void run_first(std::unique_lock<std::mutex>& guard) {
    const std::shared_ptr<Call> call = calls_.front();
    guard.unlock();
    std::exception_ptr failure;
    try {
      transport_.enter(++number_, call->what_);
      call->run_(monotonic_seconds() + limit_);
      call->run_ = nullptr;
    } catch (const Error& error) {
      failure = std::current_exception();
      if (error.code() != ExitCode::peer_failed) tell_others(error.what());
    } catch (const std::exception& error) {
      failure = std::current_exception();
      tell_others(error.what());
    }
    guard.lock();
    if (failure) {
      failure_ = failure;
    } else {
      calls_.pop_front();
      call->done_ = true;
    }
    changed_.notify_all();
  }

  // The fault is this rank's own, and its own error is the better one.
  void tell_others(const std::string& reason) {
    try {
      transport_.look_around();
      transport_.give_up(reason);
    } catch (const Error&) {
    }
  }

  RollCall& transport_;
  std::shared_ptr<std::atomic<int>> waits_;
  double limit_;
  std::int64_t number_ = 0;  // of the call that runs
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Call>> calls_;
  std::exception_ptr failure_;
  std::jthread thread_;
};

HostCommunicator::HostCommunicator(std::unique_ptr<Transport> transport,
                                   const HostCommunicatorOptions& options)
    : options_(options),
      transport_(
          std::make_unique<RollCall>(std::move(transport), options.limit_seconds, options.grace_seconds)),
      sum_(std::make_unique<HostSum>(*transport_, options.algorithm, options.no_node_memory)),
      queue_(std::make_shared<Queue>(*transport_, options.limit_seconds)) {}

HostCommunicator::~HostCommunicator() {
  queue_->close();
  if (transport_->close()) {
    transport_.reset();
    queue_->forget();
  } else {
    // Its rooms and notes, the calls and their tensors stay as long as the process.
    std::ignore = transport_.release();
  }
}

// A fault in the caller's code.
void HostCommunicator::need(bool condition, std::string_view what) const {
  if (!condition) throw Error(ExitCode::internal, fmt::format("rank {}: {}", rank(), what));
}

Pending HostCommunicator::start(std::string what, std::function<void(double)> run) {
  return Pending(queue_->push(std::make_shared<Queue::Call>(queue_, std::move(what), std::move(run))));
}

Pending HostCommunicator::all_reduce(const device::Tensor& data) {
  return start(fmt::format("all-reduce of {} {}", data.count(), name_of(data.dtype())),
               [this, data](double deadline) { sum_->all_reduce(data.dtype(), bytes_of(data), deadline); });
}

Pending HostCommunicator::reduce_scatter(const device::Tensor& all, const device::Tensor& mine) {
  need(all.dtype() == mine.dtype() && all.count() == mine.count() * size(),
       "a reduce-scatter of unlike tensors");
  return start(fmt::format("reduce-scatter of {} {}", all.count(), name_of(all.dtype())),
               [this, all, mine](double deadline) {
                 sum_->reduce_scatter(all.dtype(), bytes_of(all), bytes_of(mine), deadline);
               });
}

Pending HostCommunicator::all_gather(const device::Tensor& mine, const device::Tensor& all) {
  need(all.dtype() == mine.dtype() && all.count() == mine.count() * size(),
       "an all-gather of unlike tensors");
  return start(fmt::format("all-gather of {} {}", all.count(), name_of(all.dtype())),
               [this, mine, all](double deadline) {
                 collectives::all_gather(*transport_, bytes_of(mine), bytes_of(all), deadline);
               });
}

Pending HostCommunicator::broadcast(const device::Tensor& data, int root) {
  need(root >= 0 && root < size(), "a broadcast from a rank that does not exist");
  return start(fmt::format("broadcast of {} {} from rank {}", data.count(), name_of(data.dtype()), root),
               [this, data, root](double deadline) {
                 collectives::broadcast(*transport_, bytes_of(data), root, deadline);
               });
}

Pending HostCommunicator::exchange(std::span<const Message> sends, std::span<const Message> receives) {
  for (const auto& list : {sends, receives}) {
    for (const Message& message : list)
      need(message.peer >= 0 && message.peer < size(), "a message for a rank that does not exist");
  }
  return start("exchange of messages", [this, out = std::vector(sends.begin(), sends.end()),
                                        in = std::vector(receives.begin(), receives.end())](double deadline) {
    std::vector<Outgoing> from;
    std::vector<Incoming> to;
    for (const Message& message : out) from.push_back({message.peer, bytes_of(message.data)});
    for (const Message& message : in) to.push_back({message.peer, bytes_of(message.data)});
    collectives::exchange(*transport_, from, to, deadline);
  });
}

void HostCommunicator::barrier() {
  start("barrier", [this](double deadline) { collectives::barrier(*transport_, deadline); }).wait();
}

void HostCommunicator::set_background(bool background) {
  queue_->set_background(background);
}

void HostCommunicator::abort() noexcept {
  queue_->abort();
}

void HostCommunicator::tell(const std::string& reason) noexcept {
  try {
    queue_->tell(reason);
  } catch (const std::exception&) {
    // The others come to their own limit.
  }
}

std::unique_ptr<Communicator> HostCommunicator::duplicate() {
  return std::make_unique<HostCommunicator>(transport_->duplicate(), options_);
}

}  // namespace lockstep::comm
