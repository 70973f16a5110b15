// Signals that ask a run to save and leave: TERM, INT, USR1, USR2 (contract C4).
#pragma once

#include <string>

namespace lockstep::slurm {

// Installs handlers that only remember which signal came first, and blocks the signals in the calling thread
// and in those that it starts later: they stay pending until a thread accepts them. To be called once, before
// MPI is initialised, so that no moment of the run is without them.
void install_stop_signals();

// The calling thread takes the signals from now on. Called by one thread that neither computes nor does I/O
// that an interruption could spoil.
void accept_stop_signals();

// The first stop signal that this process received; 0 while none has come. Safe from any thread.
int received_stop_signal();

// "TERM" for SIGTERM, and so on.
std::string signal_name(int number);

}  // namespace lockstep::slurm
