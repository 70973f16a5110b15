// Stand-ins for the CUDA runtime's calls that ask for devices.
#include <cstdio>
#include <cstring>

#include "call.h"
#include "process.h"
#include "stream.h"

namespace {

using fake_gpu::call;
using fake_gpu::Needs;
using fake_gpu::process;
using fake_gpu::Runtime;

constexpr int multiprocessors = 132;
constexpr int shared_bytes = 48 * 1024;
constexpr int most_shared_bytes = 227 * 1024;

bool exists(int device) {
  int count = 0;
  return process().devices.count(count) == cudaSuccess && device >= 0 && device < count;
}

// "GPU-fa4e0000-..." as 16 bytes.
void put_uuid(const std::string& text, cudaUUID_t& uuid) {
  std::size_t byte = 0;
  for (std::size_t i = text.find('-') + 1; i + 1 < text.size() && byte < sizeof uuid.bytes;) {
    if (text[i] == '-') {
      ++i;
      continue;
    }
    uuid.bytes[byte++] = static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
    i += 2;
  }
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", Needs::nothing,
              [&](Runtime&) { return process().devices.count(*count); });
}

cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", Needs::nothing,
              [&](Runtime&) { return process().devices.set_current(device); });
}

cudaError_t cudaGetDevice(int* device) {
  return call("cudaGetDevice", Needs::nothing, [&](Runtime&) {
    *device = process().devices.current();
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call("cudaGetDeviceProperties", Needs::nothing, [&](Runtime& runtime) {
    if (!exists(device)) {
      return cudaErrorInvalidDevice;
    }
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "Fake GPU%s",
                  process().devices.mig() ? " MIG 1g.10gb" : "");
    put_uuid(process().devices.uuid(device), properties->uuid);
    properties->totalGlobalMem = runtime.memory_total();
    properties->sharedMemPerBlock = shared_bytes;
    properties->sharedMemPerBlockOptin = most_shared_bytes;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    properties->major = process().devices.major();
    properties->minor = process().devices.minor();
    properties->multiProcessorCount = multiprocessors;
    properties->pciBusID = process().devices.bus(device);
    properties->unifiedAddressing = 1;
    properties->canMapHostMemory = 1;
    properties->asyncEngineCount = 3;
    properties->concurrentKernels = 1;
    properties->hostNumaId = -1;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call("cudaDeviceGetAttribute", Needs::nothing, [&](Runtime&) {
    if (!exists(device)) {
      return cudaErrorInvalidDevice;
    }
    switch (attribute) {
      case cudaDevAttrComputeCapabilityMajor:
        *value = process().devices.major();
        break;
      case cudaDevAttrComputeCapabilityMinor:
        *value = process().devices.minor();
        break;
      case cudaDevAttrMultiProcessorCount:
        *value = multiprocessors;
        break;
      case cudaDevAttrComputeMode:
        *value = process().devices.exclusive() ? cudaComputeModeExclusiveProcess : cudaComputeModeDefault;
        break;
      case cudaDevAttrMaxThreadsPerBlock:
        *value = 1024;
        break;
      case cudaDevAttrWarpSize:
        *value = 32;
        break;
      case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = shared_bytes;
        break;
      case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = most_shared_bytes;
        break;
      case cudaDevAttrPciDomainId:
      case cudaDevAttrPciDeviceId:
        *value = 0;
        break;
      case cudaDevAttrPciBusId:
        *value = process().devices.bus(device);
        break;
      case cudaDevAttrHostNumaId:
        *value = -1;
        break;
      default:
        fake_gpu::die("cudaDeviceGetAttribute: attribute " + std::to_string(attribute) +
                      " is not on the list");
    }
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return call("cudaDeviceGetPCIBusId", Needs::nothing, [&](Runtime&) {
    if (!exists(device)) {
      return cudaErrorInvalidDevice;
    }
    const int written = std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0",
                                      process().devices.bus(device));
    return written < length ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = process().devices.driver_version();
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("cudaDeviceGetStreamPriorityRange", Needs::device, [&](Runtime&) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
  });
}
