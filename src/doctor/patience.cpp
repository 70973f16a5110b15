#include "doctor/patience.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/error.h"

namespace lockstep::doctor {

namespace {

struct Result {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Facts> facts;
  std::exception_ptr failure;
  bool done() const { return facts.has_value() || failure != nullptr; }
};

}  // namespace

Facts Patience::run(std::string_view what, std::function<Facts()> work) {
  if (lost_) throw Error(ExitCode::peer_failed, fmt::format("{}: not tried after that", what));
  auto result = std::make_shared<Result>();
  std::thread([result, work = std::move(work)] {
    std::optional<Facts> facts;
    std::exception_ptr failure;
    try {
      facts = work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard guard(result->mutex);
    result->facts = std::move(facts);
    result->failure = failure;
    result->changed.notify_all();
  }).detach();
  std::unique_lock guard(result->mutex);
  if (!result->changed.wait_for(guard, std::chrono::duration<double>(limit_),
                                [&] { return result->done(); })) {
    lost_ = true;
    throw Error(ExitCode::peer_failed, fmt::format("{}: no answer within {:.0f} s", what, limit_));
  }
  if (result->failure) std::rethrow_exception(result->failure);
  return std::move(*result->facts);
}

}  // namespace lockstep::doctor
