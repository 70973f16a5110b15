// NCCL's own knowledge of a job: each process with NCCL 2.24 or later has a thread (RAS) that knows the
// others' and answers in text, to one TCP connection at a time and place.
#pragma once

#include <cstddef>
#include <string>

namespace lockstep::comm::nccl {

constexpr double ras_seconds = 3;
constexpr std::size_t ras_bytes = std::size_t{1} << 20;

// Where this process's RAS can be asked, "host:port"; empty where it has none.
std::string ras_address();

// The verbose status of the job, with the marks of lines and printable ASCII only. Takes `limit` seconds at
// most. Where the answer does not end by then, or is longer than ras_bytes, a last line says that it is cut.
// Empty where nobody answers, or not as RAS does, or where the address has a host's name other than
// localhost: names are not resolved. Any thread.
std::string ask_ras(const std::string& address, double limit);

}  // namespace lockstep::comm::nccl
