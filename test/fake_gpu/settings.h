// The environment variables FAKE_GPU_*.
#pragma once

#include <string>

namespace fake_gpu {

// The value of an environment variable: a whole number of at least 0. Dies of another value.
long setting(const char* name, long otherwise);
std::string text_setting(const char* name, const char* otherwise);

// FAKE_GPU_ORDER=reverse: streams, blocks and threads take their turns from the last to the first.
bool reverse_order();

}  // namespace fake_gpu
