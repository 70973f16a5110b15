// TensorBoard's event files, byte by byte: records of protobuf messages, each framed by its length and
// checksums. Only the few fields that a run needs; docs/run-folder.md names them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::train {

struct Scalar {
  std::string_view tag;
  double value;
};

// Messages of type Event; `wall` in seconds since 1970.
std::string version_event(double wall);  // must be the first of a file
std::string scalars_event(double wall, std::int64_t step, std::span<const Scalar> scalars);
// Tells readers that points of `step` and later, from earlier files of the folder, were undone.
std::string restart_event(double wall, std::int64_t step);

// The message as a record of the file.
std::string framed(std::string_view message);

}  // namespace lockstep::train
