// Splits a loop into chunks of a fixed size and runs them on the device's threads.
#pragma once

#include <cstdint>
#include <functional>

namespace lockstep::device::cpu {

// Small enough for four arrays to stay in a core's second-level cache, large enough to hide a thread's start.
constexpr std::int64_t elements_per_chunk = 16384;

// Sets the number of threads that oneDNN (which uses OpenMP) takes for calls from this thread.
void set_library_threads(int threads);

// Calls body(first, last) for [0, chunk), [chunk, 2 chunk), ... up to count. Chunks do not depend on the
// number of threads, so neither does a result that is made of chunks. The body must not throw.
void for_each_chunk(int threads, std::int64_t count, std::int64_t chunk,
                    const std::function<void(std::int64_t first, std::int64_t last)>& body);

}  // namespace lockstep::device::cpu
