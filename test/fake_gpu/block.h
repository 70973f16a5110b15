// Runs the blocks of a kernel, one after the other, their threads by turns.
#pragma once

#include <boost/context/fiber.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "emulated_kernels.h"
#include "stacks.h"

namespace fake_gpu {

// Threads run to their end one after the other, on one fiber. One that waits for others keeps the fiber, and
// the next thread starts on a new one. When all threads have ended or wait, those that have what they wait
// for go on.
class Block {
 public:
  enum class Exchange { none, down, by_xor, from };

  Block(std::string kernel, unsigned threads, const std::function<void()>& body, Stacks& stacks);

  // As block `index` of a grid whose built-in variables are set. Returns when all threads have.
  void run();

  // Called by the thread that runs.
  void wait_for_block();
  unsigned long long wait_for_warp(Exchange exchange, unsigned mask, unsigned long long value, unsigned lane);

 private:
  enum class State { fresh, ready, at_block, at_warp, returned };
  struct Thread {
    State state = State::fresh;
    boost::context::fiber fiber;  // empty, or where it goes on
    Exchange exchange = Exchange::none;
    unsigned mask = 0;
    unsigned operand = 0;
    unsigned long long value = 0;  // given, then received
  };

  std::optional<unsigned> next_fresh();
  void start_fresh_threads();
  void resume_ready_threads();
  boost::context::fiber carrier();
  void leave(State state);
  // False: nobody can go on.
  bool release();
  bool release_warp(unsigned first);
  std::string name_of(unsigned thread) const;

  std::string kernel_;
  const std::function<void()>& body_;
  Stacks& stacks_;
  const bool reverse_;
  std::vector<Thread> threads_;
  unsigned started_ = 0;
  unsigned current_ = 0;
  boost::context::fiber scheduler_;
};

// All blocks of a grid, on the device's thread.
void run_grid(const std::string& kernel, Blocks blocks, unsigned threads, std::size_t shared_bytes,
              const std::function<void()>& body);

}  // namespace fake_gpu
