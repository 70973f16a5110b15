// Memory of its own for signal handlers.
#pragma once

namespace lockstep {

// Call once in each thread that computes, before handlers are installed with SA_ONSTACK: they then run on
// this memory. oneDNN's generated code lets the stack pointer point into the heap while it works; a handler
// without a stack of its own writes its frame, several KiB with AVX-512, over whatever lies there.
void use_signal_stack();

}  // namespace lockstep
