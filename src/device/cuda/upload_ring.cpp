#include "device/cuda/upload_ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/cuda/check.h"

namespace lockstep::device::cuda {

UploadRing::UploadRing(std::size_t bytes, WaitForEvent wait) : bytes_(bytes), wait_(std::move(wait)) {}

void UploadRing::copy(const void* host, std::size_t bytes, void* address, const Stream& stream) {
  if (!memory_) memory_ = std::make_unique<PageLocked>(bytes_);
  const auto* from = static_cast<const std::byte*>(host);
  auto* to = static_cast<std::byte*>(address);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(bytes - done, bytes_ / 4);
    const std::size_t begin = make_room(part);
    std::memcpy(memory_->data() + begin, from + done, part);
    if (spare_.empty()) spare_.push_back(std::make_unique<Event>());
    check(cudaMemcpyAsync(to + done, memory_->data() + begin, part, cudaMemcpyHostToDevice, stream.get()),
          "cudaMemcpyAsync to the device");
    spare_.back()->record(stream);
    under_way_.push_back({begin, std::move(spare_.back())});
    spare_.pop_back();
    end_ = begin + part;
    done += part;
  }
}

std::size_t UploadRing::make_room(std::size_t bytes) {
  while (!under_way_.empty() && under_way_.front().fetched->done()) take_back_oldest();
  std::size_t begin = 0;
  while (!fits(bytes, begin)) {
    wait_(*under_way_.front().fetched);
    take_back_oldest();
  }
  return begin;
}

bool UploadRing::fits(std::size_t bytes, std::size_t& begin) const {
  begin = 0;
  if (under_way_.empty()) return true;
  const std::size_t oldest = under_way_.front().begin;
  if (end_ <= oldest) {  // the newest part lies before the oldest
    begin = end_;
    return end_ + bytes <= oldest;
  }
  if (bytes_ - end_ >= bytes) {
    begin = end_;
    return true;
  }
  return bytes <= oldest;
}

void UploadRing::take_back_oldest() {
  spare_.push_back(std::move(under_way_.front().fetched));
  under_way_.pop_front();
}

}  // namespace lockstep::device::cuda
