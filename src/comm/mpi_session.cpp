#include "comm/mpi_session.h"

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace lockstep::comm {

bool started_by_launcher() {
  return std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr ||
         std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
}

MpiSession::MpiSession() {
  constexpr int keep_existing = 0;
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", keep_existing);
  ::setenv("OMPI_MCA_fcoll", "individual", keep_existing);
  for (const char* const limit : {"OMPI_MCA_btl_tcp_eager_limit", "OMPI_MCA_btl_tcp_rndv_eager_limit",
                                  "OMPI_MCA_btl_tcp_max_send_size"}) {
    ::setenv(limit, "262144", keep_existing);
  }
  if (!started_by_launcher()) {
    ::setenv("OMPI_MCA_ess_singleton_isolated", "1", keep_existing);
    // Such programs of one user share a session folder, which each removes at its end: another one that is
    // just opening a checkpoint there for its shared file pointer, which nobody uses, would fail. This kind
    // needs none.
    ::setenv("OMPI_MCA_sharedfp", "individual", keep_existing);
  }
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
    throw Error(ExitCode::internal, "MPI does not start; `mpirun -n 1 hostname` may tell more");
  }
  if (provided < MPI_THREAD_MULTIPLE) {
    throw Error(ExitCode::internal,
                "this MPI library was built without MPI_THREAD_MULTIPLE, which is needed");
  }
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() == 0) MPI_Finalize();
}

void MpiSession::abandon(ExitCode code) {
  std::fflush(nullptr);
  ::_exit(static_cast<int>(code));
}

}  // namespace lockstep::comm
