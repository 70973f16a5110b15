#include "faults.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "process.h"
#include "stream.h"

namespace fake_gpu {

namespace {

constexpr std::string_view slower = "slower=";

// "" where the launcher does not say: one process alone is rank 0.
std::string rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* value = std::getenv(name)) {
      return value;
    }
  }
  return "0";
}

}  // namespace

Faults::Faults() {
  const char* text = std::getenv("FAKE_GPU_FAULT");
  std::istringstream list(text == nullptr ? "" : text);
  for (std::string fault; std::getline(list, fault, ',');) {
    add(fault);
  }
}

bool Faults::due(const std::string& call, std::string& error) {
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = faults_.equal_range(call);
  if (begin == end) {
    return false;
  }
  const unsigned long count = ++calls_[call];
  for (auto fault = begin; fault != end; ++fault) {
    const bool lasts = fault->second.error.starts_with(slower);
    if (fault->second.call == count || (lasts && fault->second.call < count)) {
      error = fault->second.error;
      return true;
    }
  }
  return false;
}

void Faults::add(const std::string& text) {
  std::istringstream parts(text);
  std::string call, number, error, where;
  std::getline(parts, call, ':');
  std::getline(parts, number, ':');
  std::getline(parts, error, ':');
  const bool only_one_rank = static_cast<bool>(std::getline(parts, where));
  char* end = nullptr;
  const unsigned long count = std::strtoul(number.c_str(), &end, 10);
  if (call.empty() || error.empty() || count == 0 || *end != '\0') {
    die("FAKE_GPU_FAULT: '" + text + "' is not CALL:N:ERROR or CALL:N:ERROR:RANK");
  }
  if (!only_one_rank || where == rank()) {
    faults_.insert({call, {count, error}});
  }
}

std::optional<std::chrono::milliseconds> delay_of(const std::string& error) {
  if (!error.starts_with(slower)) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::stol(error.substr(slower.size())));
}

void die(const std::string& text) {
  std::fputs(("fake GPU: " + text + "\n").c_str(), stderr);
  std::abort();
}

bool fault_due(const std::string& call, std::string& error) {
  return process().faults.due(call, error);
}

}  // namespace fake_gpu
