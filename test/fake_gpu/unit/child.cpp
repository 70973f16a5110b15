#include "child.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "process.h"

namespace {

// Of a child that hangs.
constexpr unsigned longest_seconds = 60;

}  // namespace

Ending in_child(const Settings& settings, const std::function<void()>& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    // Catch2's handlers would tell of the signal at length.
    std::signal(SIGABRT, SIG_DFL);
    std::signal(SIGSEGV, SIG_DFL);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(longest_seconds);
    for (const auto& [name, value] : settings) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    fake_gpu::start_afresh();
    try {
      body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::exit(1);
    }
    std::exit(0);
  }
  close(ends[1]);
  Ending ending{0, 0, ""};
  char bytes[4096];
  for (ssize_t count = 0; (count = read(ends[0], bytes, sizeof bytes)) > 0;) {
    ending.output.append(bytes, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  ending.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ending.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return ending;
}

std::string death_of(const std::function<void()>& body, const Settings& settings) {
  const Ending ending = in_child(settings, body);
  return ending.signal == SIGABRT ? ending.output : "did not abort: " + ending.output;
}

std::string struck_by_segv(const std::function<void()>& body, const Settings& settings) {
  const Ending ending = in_child(settings, body);
  return ending.signal == SIGSEGV ? ending.output : "no SIGSEGV: " + ending.output;
}

std::string complaints_of(const std::function<void()>& body, const Settings& settings) {
  const Ending ending = in_child(settings, body);
  if (ending.signal == 0 && ending.status == 0) {
    return ending.output;
  }
  return ending.output + (ending.signal == 0 ? "exit status " + std::to_string(ending.status)
                                             : "signal " + std::to_string(ending.signal));
}

void expect(bool condition, const char* text) {
  if (!condition) {
    std::fprintf(stderr, "not so: %s\n", text);
    std::exit(1);
  }
}

void expect_error(cudaError_t seen, cudaError_t wanted, const char* text) {
  if (seen != wanted) {
    std::fprintf(stderr, "%s: %s instead of %s\n", text, cudaGetErrorName(seen), cudaGetErrorName(wanted));
    std::exit(1);
  }
}

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  EXPECT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  EXPECT_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

float* new_device_floats(std::size_t count) {
  void* memory = nullptr;
  EXPECT_OK(cudaMalloc(&memory, count * sizeof(float)));
  return static_cast<float*>(memory);
}

float* new_page_locked_floats(std::size_t count, float value) {
  void* memory = nullptr;
  EXPECT_OK(cudaMallocHost(&memory, count * sizeof(float)));
  auto* const floats = static_cast<float*>(memory);
  for (std::size_t i = 0; i < count; ++i) {
    floats[i] = value;
  }
  return floats;
}
