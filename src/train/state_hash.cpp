#include "train/state_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/hash.h"

namespace lockstep::train {

std::uint64_t hash_of(device::Device& device, const device::Tensor& tensor) {
  // Through the host's memory in pieces that stay in its caches.
  constexpr std::int64_t piece = std::int64_t{1} << 16;
  std::vector<float> host(static_cast<std::size_t>(std::min(piece, tensor.count())));
  Hasher hasher;
  for (std::int64_t at = 0; at < tensor.count(); at += piece) {
    const std::int64_t count = std::min(piece, tensor.count() - at);
    const auto values = std::span(host).first(static_cast<std::size_t>(count));
    device.download(tensor.slice(at, device::Shape{count}), values);
    hasher.update(std::as_bytes(values));
  }
  return hasher.digest();
}

StateHash whole_of(std::vector<StateHash::Part> parts) {
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::string text;
  for (const StateHash::Part& part : parts) text += fmt::format("{} {}\n", part.name, hash_text(part.hash));
  return {std::move(parts), hash64(text)};
}

std::string hash_text(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace lockstep::train
