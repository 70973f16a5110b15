// Stacks for the threads of a block that wait, used again and again.
#pragma once

#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <vector>

namespace fake_gpu {

// Not thread-safe. Below each stack lies a page that nothing may touch.
class Stacks {
 public:
  Stacks() = default;
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  boost::context::stack_context take();
  void give_back(const boost::context::stack_context& stack);

 private:
  std::vector<boost::context::stack_context> idle_;
};

// What Boost.Context asks for stacks.
class StackAllocator {
 public:
  explicit StackAllocator(Stacks& stacks) : stacks_(&stacks) {}
  boost::context::stack_context allocate() { return stacks_->take(); }
  void deallocate(boost::context::stack_context& stack) { stacks_->give_back(stack); }

 private:
  Stacks* stacks_;
};

}  // namespace fake_gpu
