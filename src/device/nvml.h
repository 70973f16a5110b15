// The part of NVIDIA's management library (NVML, libnvidia-ml.so.1, which comes with the driver) that tells
// how a GPU is doing. Loaded at run time: most nodes of a cluster have none.
#pragma once

#include <string>

#include "device/gpu_reading.h"

namespace lockstep::device {

class Nvml {
 public:
  // Loads the library and finds the GPU by its address on the PCI bus. May take seconds where the driver has
  // to wake the GPU. Throws Error(bad_config) that says what is missing.
  Nvml(const std::string& library, const std::string& pci_address);

  // Takes some milliseconds, or for ever where the driver hangs.
  GpuReading read() const;

 private:
  // NVML's types of the same binary form.
  using Return = int;
  using Handle = void*;
  struct Utilisation {
    unsigned gpu, memory;  // percent
  };
  struct Memory {
    unsigned long long total, free, used;  // bytes
  };

  // A function that an old driver lacks stays null.
  template <typename Function>
  void find(const char* name, Function*& function);
  template <typename Function>
  void need(const char* name, Function*& function);
  void need_success(Return status, const char* call) const;

  void* library_ = nullptr;  // never closed: a hanging call may be inside
  Handle gpu_ = nullptr;
  const char* (*error_text_)(Return) = nullptr;
  Return (*utilisation_)(Handle, Utilisation*) = nullptr;
  Return (*memory_)(Handle, Memory*) = nullptr;
  Return (*clock_)(Handle, int, unsigned*) = nullptr;
  Return (*power_)(Handle, unsigned*) = nullptr;
  Return (*temperature_)(Handle, int, unsigned*) = nullptr;
  Return (*throttle_reasons_)(Handle, unsigned long long*) = nullptr;
};

}  // namespace lockstep::device
