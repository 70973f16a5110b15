// Work that may never come back, such as a call into a file system that does not answer.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace lockstep {

// What `work` returns or throws, some time: it is done in a thread that is left behind, so it owns what it
// uses. Where no thread can be had, the caller does it.
template <typename T>
std::future<T> apart(const std::function<T()>& work) {
  auto promise = std::make_shared<std::promise<T>>();
  std::future<T> result = promise->get_future();
  const auto do_it = [promise, work] {
    try {
      promise->set_value(work());
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  };
  try {
    std::thread(do_it).detach();
  } catch (const std::exception&) {
    do_it();
  }
  return result;
}

// The same, or nothing where it takes longer.
template <typename T>
std::optional<T> within(std::chrono::duration<double> limit, const std::function<T()>& work) {
  std::future<T> result = apart<T>(work);
  if (result.wait_for(limit) != std::future_status::ready) return std::nullopt;
  return result.get();
}

}  // namespace lockstep
