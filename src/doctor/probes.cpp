#include "doctor/probes.h"

namespace lockstep::doctor {

// The order in which they run and are told.
std::span<const Probe> probes() {
  static const std::vector<Probe> table = {allocation_probe(), software_probe(),      interface_probe(),
                                           clock_probe(),      device_probe(),        compute_probe(),
                                           model_probe(),      communication_probe(), folder_probe()};
  return table;
}

}  // namespace lockstep::doctor
