#include "device/cuda/inbox.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace lockstep::device::cuda {

namespace {

constexpr std::size_t ring_bytes = std::size_t{32} << 20;
constexpr std::size_t smallest_slot = 4096;
constexpr MemoryPurpose batches_ahead{"batches that arrive ahead of their use",
                                      "use a smaller train.micro_batch"};

}  // namespace

Inbox::Inbox(Device& device, const Stream& compute, Timeline& timeline, WaitForEvent wait)
    : device_(device), compute_(compute), timeline_(timeline), ring_(ring_bytes, std::move(wait)) {}

Inbox::~Inbox() {
  cudaStreamSynchronize(copies_.get());
}

Tensor Inbox::send(const void* host, const Shape& shape, DType dtype) {
  const std::size_t bytes = static_cast<std::size_t>(shape.count()) * size_of(dtype);
  Slot& slot = idle_slot(bytes);
  copies_.wait_for(slot.released.get());
  {
    const Mark mark(timeline_, Row::gpu_copies, "batch", "data", copies_.get());
    ring_.copy(host, bytes, slot.memory.data(), copies_);
  }
  slot.arrived.record(copies_);
  slot.idle = slot.received = false;
  // Tensors may outlive their device: the memory is theirs as well.
  const auto release_slot = [inbox = weak_from_this(), at = &slot, memory = slot.memory](void*) {
    if (const auto open = inbox.lock()) open->release(*at);
  };
  return {std::shared_ptr<void>(slot.memory.data(), release_slot), 0, shape, dtype};
}

void Inbox::receive(const Tensor& sent) {
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&sent](const auto& slot) {
    return !slot->idle && slot->memory.data() == sent.data();
  });
  if (found == slots_.end()) throw Error(ExitCode::internal, "a tensor is awaited that was never sent");
  if (std::exchange((*found)->received, true)) return;
  compute_.wait_for((*found)->arrived.get());
}

// Labels do not get the memory of images, and a last, shorter batch gets that of a full one.
Inbox::Slot& Inbox::idle_slot(std::size_t bytes) {
  const std::size_t size = std::max(bytes, smallest_slot);
  for (const auto& slot : slots_) {
    if (slot->idle && slot->memory.bytes() >= size && slot->memory.bytes() / 2 <= size) return *slot;
  }
  // What was just too small is not needed any more.
  std::erase_if(slots_, [size](const auto& slot) {
    return slot->idle && slot->memory.bytes() < size && slot->memory.bytes() >= size / 2;
  });
  const MemoryUse use(device_, batches_ahead);
  auto slot = std::make_unique<Slot>();
  slot->memory = device_.empty({static_cast<std::int64_t>(size)}, DType::u8);
  // The memory may have been another tensor's, which queued operations still use.
  slot->released.record(compute_);
  slots_.push_back(std::move(slot));
  return *slots_.back();
}

// Nobody may use the memory before the copy is made, even if it was never received. Errors of the device come
// back in the next call.
void Inbox::release(Slot& slot) noexcept {
  if (!slot.received) cudaStreamWaitEvent(compute_.get(), slot.arrived.get(), 0);
  cudaEventRecord(slot.released.get(), compute_.get());
  slot.idle = true;
}

}  // namespace lockstep::device::cuda
