// MPI from start to end of the process.
#pragma once

#include "core/error.h"

namespace lockstep::comm {

// Exactly one per process, made before the first MPI or parallel HDF5 call.
//
// An orderly end is the destructor: every rank reaches it, and MPI_Finalize waits for them. It therefore does
// nothing while an exception passes: peers may be stuck elsewhere, and finalising would wait for them for
// ever (contracts C5, C7). Such a process must end by abandon(), or by leaving main() with its exit code; an
// error that all ranks agreed on is better caught inside the session's scope, so that the end stays orderly.
class MpiSession {
 public:
  // Sets, before MPI_Init_thread, what the program needs and the user has not set: waits that yield the core
  // (OMPI_MCA_mpi_yield_when_idle), collective file writes in which each rank writes its own bytes, so that a
  // full disk is an error on that rank and not a hang of all (OMPI_MCA_fcoll), TCP messages up to 256 KiB
  // without a question first (OMPI_MCA_btl_tcp_eager_limit and what has to follow it), and for a process that
  // no launcher started a start without helper daemon (OMPI_MCA_ess_singleton_isolated) and files without a
  // shared pointer in the user's session folder (OMPI_MCA_sharedfp). Throws Error(internal) where
  // MPI_THREAD_MULTIPLE is not to be had.
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  // Leaves at once: flushes stdio and calls _exit; no destructor, no collective. Any thread may call it.
  [[noreturn]] static void abandon(ExitCode code);
};

// True where mpirun, srun or another PMIx launcher started this process.
bool started_by_launcher();

}  // namespace lockstep::comm
