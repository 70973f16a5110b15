// Loops that the compiler turns into vector code choose their instruction set when the program starts, so
// that one installed binary runs anywhere and is fast where it can be (no -march=native).
#pragma once

// Before a function definition: one copy per instruction set. Not under Address- and ThreadSanitizer, whose
// own start-up comes after the copies are chosen.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define LOCKSTEP_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LOCKSTEP_VECTOR_CLONES
#endif

// For helpers of such a function: they must become part of each copy.
#define LOCKSTEP_INLINE inline __attribute__((always_inline))
