#include "devices.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "settings.h"
#include "stream.h"

namespace fake_gpu {

namespace {

thread_local int current_device = 0;

std::string uuid_of(int gpu, bool mig) {
  return (mig ? "MIG-fa4e0000-0000-4000-8000-00000000000" : "GPU-fa4e0000-0000-4000-8000-00000000000") +
         std::to_string(gpu);
}

// As CUDA reads it: numbers or the beginnings of UUIDs, up to the first that is neither.
std::vector<int> visible_gpus(int count, bool mig) {
  std::vector<int> visible;
  const char* const text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) {
    for (int gpu = 0; gpu < count; ++gpu) {
      visible.push_back(gpu);
    }
    return visible;
  }
  std::istringstream list(text);
  for (std::string name; std::getline(list, name, ',');) {
    int found = -1;
    for (int gpu = 0; gpu < count; ++gpu) {
      const bool by_uuid = name.size() > 4 && uuid_of(gpu, mig).starts_with(name);
      found = name == std::to_string(gpu) || by_uuid ? gpu : found;
    }
    if (found < 0) {
      break;
    }
    visible.push_back(found);
  }
  return visible;
}

}  // namespace

Devices::Devices()
    : driver_(static_cast<int>(setting("FAKE_GPU_DRIVER", CUDART_VERSION))),
      exclusive_(setting("FAKE_GPU_EXCLUSIVE", 0) == 1),
      mig_(setting("FAKE_GPU_MIG", 0) == 1) {
  const std::string capability = text_setting("FAKE_GPU_CAPABILITY", "9.0");
  char rest = 0;
  if (std::sscanf(capability.c_str(), "%d.%d%c", &major_, &minor_, &rest) != 2) {
    die("FAKE_GPU_CAPABILITY=" + capability + " is not MAJOR.MINOR");
  }
  const long count = setting("FAKE_GPU_COUNT", 4);
  if (count > 8) {
    die("FAKE_GPU_COUNT: at most 8");
  }
  visible_ = visible_gpus(static_cast<int>(count), mig_);
  if (mig_ && visible_.size() > 1) {
    visible_.resize(1);  // CUDA shows a process no more than one slice
  }
}

cudaError_t Devices::count(int& count) const {
  count = 0;
  if (driver_ / 1000 < CUDART_VERSION / 1000) {
    return cudaErrorInsufficientDriver;
  }
  if (visible_.empty()) {
    return cudaErrorNoDevice;
  }
  count = static_cast<int>(visible_.size());
  return cudaSuccess;
}

int Devices::bus(int device) const {
  return 0x1A + 0x10 * visible_[static_cast<std::size_t>(device)];
}

std::string Devices::uuid(int device) const {
  return uuid_of(visible_[static_cast<std::size_t>(device)], mig_);
}

int Devices::current() const {
  return current_device;
}

cudaError_t Devices::set_current(int device) {
  int known = 0;
  if (const cudaError_t error = count(known)) {
    return error;
  }
  if (device < 0 || device >= known) {
    return cudaErrorInvalidDevice;
  }
  current_device = device;
  return use_current();
}

cudaError_t Devices::use_current() {
  int known = 0;
  if (const cudaError_t error = count(known)) {
    return error;
  }
  const std::lock_guard lock(mutex_);
  const int gpu = visible_[static_cast<std::size_t>(current_device)];
  if (!exclusive_ || owned_.contains(gpu)) {
    return cudaSuccess;
  }
  const std::string file = text_setting("TMPDIR", "/tmp") + "/fake_gpu." + std::to_string(gpu) + ".lock";
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    die("cannot open " + file);
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor);
    return cudaErrorDevicesUnavailable;
  }
  owned_.insert(gpu);  // the lock stays until the process ends
  return cudaSuccess;
}

}  // namespace fake_gpu
