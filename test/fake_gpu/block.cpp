#include "block.h"

#include <algorithm>
#include <utility>

#include "settings.h"
#include "stream.h"

namespace fake_gpu {

namespace {

constexpr unsigned warp_size = 32;

// Of a lane that gives nothing.
constexpr unsigned long long undefined_value = 0xCDCDCDCDCDCDCDCDULL;

const char* name_of_exchange(Block::Exchange exchange) {
  switch (exchange) {
    case Block::Exchange::none:
      return "__syncwarp";
    case Block::Exchange::down:
      return "__shfl_down_sync";
    case Block::Exchange::by_xor:
      return "__shfl_xor_sync";
    case Block::Exchange::from:
      return "__shfl_sync";
  }
  return "";
}

}  // namespace

Block::Block(std::string kernel, unsigned threads, const std::function<void()>& body, Stacks& stacks)
    : kernel_(std::move(kernel)),
      body_(body),
      stacks_(stacks),
      reverse_(reverse_order()),
      threads_(threads) {}

std::string Block::name_of(unsigned thread) const {
  const uint3& block = built_ins.block;
  return kernel_ + ": thread " + std::to_string(thread) + " of block " + std::to_string(block.x) +
         (block.y == 0 ? "" : "," + std::to_string(block.y));
}

std::optional<unsigned> Block::next_fresh() {
  const auto count = static_cast<unsigned>(threads_.size());
  if (started_ == count) {
    return std::nullopt;
  }
  const unsigned turn = started_++;
  return reverse_ ? count - 1 - turn : turn;
}

// Starts fresh threads, until one waits: then it keeps this fiber.
boost::context::fiber Block::carrier() {
  return {std::allocator_arg, StackAllocator(stacks_), [this](boost::context::fiber&& scheduler) {
            scheduler_ = std::move(scheduler);
            while (const std::optional<unsigned> thread = next_fresh()) {
              current_ = *thread;
              built_ins.thread.x = *thread;
              body_();
              threads_[current_].state = State::returned;
            }
            return std::move(scheduler_);
          }};
}

void Block::start_fresh_threads() {
  while (started_ < threads_.size()) {
    boost::context::fiber fiber = carrier().resume();
    if (fiber) {
      threads_[current_].fiber = std::move(fiber);
    }
  }
}

void Block::resume_ready_threads() {
  const auto count = static_cast<unsigned>(threads_.size());
  for (unsigned turn = 0; turn < count; ++turn) {
    const unsigned number = reverse_ ? count - 1 - turn : turn;
    Thread& thread = threads_[number];
    if (thread.state != State::ready) {
      continue;
    }
    current_ = number;
    built_ins.thread.x = number;
    boost::context::fiber fiber = std::exchange(thread.fiber, {}).resume();
    if (fiber) {
      thread.fiber = std::move(fiber);
    }
  }
}

void Block::run() {
  for (Thread& thread : threads_) {
    thread.state = State::fresh;
  }
  started_ = 0;
  start_fresh_threads();
  while (release()) {
    resume_ready_threads();
  }
}

void Block::leave(State state) {
  threads_[current_].state = state;
  scheduler_ = std::move(scheduler_).resume();
}

void Block::wait_for_block() {
  leave(State::at_block);
}

unsigned long long Block::wait_for_warp(Exchange exchange, unsigned mask, unsigned long long value,
                                        unsigned operand) {
  Thread& thread = threads_[current_];
  thread.exchange = exchange;
  thread.mask = mask;
  thread.operand = operand;
  thread.value = value;
  leave(State::at_warp);
  return thread.value;
}

bool Block::release() {
  bool released = false;
  for (unsigned first = 0; first < threads_.size(); first += warp_size) {
    released = release_warp(first) || released;
  }
  if (released) {
    return true;
  }
  const auto find = [&](State state) {
    return static_cast<unsigned>(std::find_if(threads_.begin(), threads_.end(),
                                              [&](const Thread& thread) { return thread.state == state; }) -
                                 threads_.begin());
  };
  const auto none = static_cast<unsigned>(threads_.size());
  const unsigned at_block = find(State::at_block);
  const unsigned at_warp = find(State::at_warp);
  const unsigned returned = find(State::returned);
  if (at_warp != none) {
    die(name_of(at_warp) + " waits at " + name_of_exchange(threads_[at_warp].exchange) +
        " for threads of its warp that do not come");
  }
  if (at_block == none) {
    return false;
  }
  if (returned != none) {
    die(name_of(at_block) + " waits at __syncthreads, and thread " + std::to_string(returned) +
        " has returned");
  }
  for (Thread& thread : threads_) {
    thread.state = State::ready;
  }
  return true;
}

bool Block::release_warp(unsigned first) {
  const unsigned end = std::min(first + warp_size, static_cast<unsigned>(threads_.size()));
  unsigned live = 0;
  for (unsigned i = first; i < end; ++i) {
    const State state = threads_[i].state;
    if (state == State::at_block) {
      return false;  // others of the warp may come there
    }
    live |= state == State::at_warp ? 1U << (i - first) : 0U;
  }
  if (live == 0) {
    return false;
  }
  const unsigned leader = first + static_cast<unsigned>(__builtin_ctz(live));
  const Exchange exchange = threads_[leader].exchange;
  unsigned long long given[warp_size];
  std::fill(given, given + warp_size, undefined_value);
  for (unsigned i = leader; i < end; ++i) {
    if (threads_[i].state != State::at_warp) {
      continue;
    }
    if (threads_[i].exchange != exchange) {
      die(name_of(i) + " is at " + name_of_exchange(threads_[i].exchange) + ", and thread " +
          std::to_string(leader) + " of its warp at " + name_of_exchange(exchange));
    }
    if (threads_[i].mask != live) {
      die(name_of(i) + " names other threads in the mask of " + name_of_exchange(exchange) +
          " than the live ones of its warp");
    }
    given[i - first] = threads_[i].value;
  }
  for (unsigned i = leader; i < end; ++i) {
    Thread& thread = threads_[i];
    if (thread.state != State::at_warp) {
      continue;
    }
    const unsigned lane = i - first;
    const unsigned source = exchange == Exchange::down     ? lane + thread.operand
                            : exchange == Exchange::by_xor ? lane ^ thread.operand
                            : exchange == Exchange::from   ? thread.operand % warp_size
                                                           : lane;
    thread.value = source < warp_size ? given[source] : given[lane];
    thread.state = State::ready;
  }
  return true;
}

}  // namespace fake_gpu
