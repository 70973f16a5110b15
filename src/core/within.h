// Work that may never come back, such as a call into a file system that does not answer.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace lockstep {

// What `work` returns or throws; nothing where it takes longer: then it goes on in a thread that is left
// behind, so it owns what it uses. Where no thread can be had, the caller does it.
template <typename T>
std::optional<T> within(std::chrono::duration<double> limit, const std::function<T()>& work) {
  std::future<T> result;
  try {
    auto promise = std::make_shared<std::promise<T>>();
    result = promise->get_future();
    std::thread([promise, work] {
      try {
        promise->set_value(work());
      } catch (...) {
        promise->set_exception(std::current_exception());
      }
    }).detach();
  } catch (const std::system_error&) {
    return work();
  } catch (const std::bad_alloc&) {
    return work();
  }
  if (result.wait_for(limit) != std::future_status::ready) return std::nullopt;
  return result.get();
}

}  // namespace lockstep
