// Small kernels for tests of the fake GPU itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

// to[i] = from[i] + amount.
void add(const float* from, float* to, std::size_t count, float amount, cudaStream_t stream);
// The same, said to be an update of `data`.
void add_in_place(float* data, std::size_t count, float amount, cudaStream_t stream);
// to[0] = the sum of count floats: one block of 256 threads, over shared memory and barriers.
void sum_by_barriers(const float* from, float* to, std::size_t count, cudaStream_t stream);
// The same over shuffles, with blocks of `threads`.
void sum_by_shuffles(const float* from, float* to, std::size_t count, unsigned threads, cudaStream_t stream);
// to[i] = from[i with its lane chosen as (3 * lane) % 32]; count is a multiple of 32, at most 1024.
void choose_lanes(const float* from, float* to, std::size_t count, cudaStream_t stream);
// to[block] = the number of the row and column, rows * 100 + columns, by dynamic shared memory.
void number_blocks(float* to, unsigned columns, unsigned rows, cudaStream_t stream);
// Wrong: the last block to run wins.
void last_block_wins(float* to, unsigned blocks, cudaStream_t stream);
// Wrong: the thread that is called `leaver` returns before a barrier that the others wait at.
void leave_before_barrier(unsigned threads, unsigned leaver, cudaStream_t stream);
// Wrong: half of the warp shuffles, the other half waits at a barrier.
void diverge(cudaStream_t stream);
// Wrong: a full mask in a block of 16 threads.
void name_missing_lanes(cudaStream_t stream);
// Wrong: adds to what it says it overwrites.
void add_to_overwritten(float* data, std::size_t count, cudaStream_t stream);
// Wrong: adds to one number more than it says.
void add_beyond(float* data, std::size_t count, cudaStream_t stream);
// Starts an empty kernel on a grid that may be wrong.
void start(unsigned blocks, unsigned threads, cudaStream_t stream);
