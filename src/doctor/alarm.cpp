#include "doctor/alarm.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "comm/mpi_session.h"
#include "core/pause.h"

namespace lockstep::doctor {

Alarm::Alarm(double seconds, std::string text)
    : thread_([seconds, text = std::move(text)](const std::stop_token& stop) {
        pause_for(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)), stop);
        if (stop.stop_requested()) return;
        fmt::print(stderr, "lockstep: error: {}\n", text);
        comm::MpiSession::abandon(ExitCode::peer_failed);
      }) {}

}  // namespace lockstep::doctor
