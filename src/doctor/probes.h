// One function for each file of a probe; the table is in probes.cpp.
#pragma once

#include "doctor/probe.h"

namespace lockstep::doctor {

Probe allocation_probe();
Probe software_probe();
Probe interface_probe();
Probe clock_probe();
Probe device_probe();
Probe compute_probe();
Probe model_probe();
Probe communication_probe();
Probe folder_probe();

}  // namespace lockstep::doctor
