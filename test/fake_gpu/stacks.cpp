#include "stacks.h"

#include <sys/mman.h>
#include <unistd.h>

#include "stream.h"

namespace fake_gpu {

namespace {

constexpr std::size_t stack_bytes = 64 * 1024;

}  // namespace

Stacks::~Stacks() {
  const auto guard = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const boost::context::stack_context& stack : idle_) {
    munmap(static_cast<char*>(stack.sp) - stack.size - guard, stack.size + guard);
  }
}

boost::context::stack_context Stacks::take() {
  if (!idle_.empty()) {
    const boost::context::stack_context stack = idle_.back();
    idle_.pop_back();
    return stack;
  }
  const auto guard = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const pages = mmap(nullptr, guard + stack_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    die("no memory for the stack of a thread");
  }
  mprotect(pages, guard, PROT_NONE);
  boost::context::stack_context stack;
  stack.size = stack_bytes;
  stack.sp = static_cast<char*>(pages) + guard + stack_bytes;
  return stack;
}

void Stacks::give_back(const boost::context::stack_context& stack) {
  idle_.push_back(stack);
}

}  // namespace fake_gpu
