// Runs a piece of a test in a child process: each begins with a fake GPU of its own, with settings of its
// own, and may die.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <string>

// What a child left behind.
struct Ending {
  int signal;  // that ended it, or 0
  int status;  // its exit status, where no signal ended it
  std::string output;
};

using Settings = std::map<std::string, std::string>;  // environment variables

Ending in_child(const Settings& settings, const std::function<void()>& body);
// The child's output, where it ended as it should.
std::string death_of(const std::function<void()>& body, const Settings& settings = {});  // by abort()
std::string struck_by_segv(const std::function<void()>& body, const Settings& settings = {});
// "" where the body came to its end without a complaint, else what was said.
std::string complaints_of(const std::function<void()>& body, const Settings& settings = {});

// In a child: complains and ends it where the condition does not hold.
void expect(bool condition, const char* text);
void expect_error(cudaError_t seen, cudaError_t wanted, const char* text);
#define EXPECT(condition) expect(condition, #condition)
#define EXPECT_ERROR(call, error) expect_error(call, error, #call)
#define EXPECT_OK(call) EXPECT_ERROR(call, cudaSuccess)

// Handles that most tests begin with.
cudaStream_t new_stream();
cudaEvent_t new_event();
float* new_device_floats(std::size_t count);
float* new_page_locked_floats(std::size_t count, float value);
