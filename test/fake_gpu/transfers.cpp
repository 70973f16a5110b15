#include "transfers.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "memory.h"
#include "stream.h"

namespace fake_gpu {

namespace {

std::size_t hash_of(const char* memory, std::size_t bytes) {
  return std::hash<std::string_view>{}({memory, bytes});
}

}  // namespace

const Transfers::Transfer* Transfers::overlapping(const char* memory, std::size_t bytes,
                                                  bool also_uploads) const {
  for (const Transfer& transfer : under_way_) {
    if ((also_uploads || !transfer.upload) && memory < transfer.memory + transfer.bytes &&
        transfer.memory < memory + bytes) {
      return &transfer;
    }
  }
  return nullptr;
}

void Transfers::upload(const char* source, std::size_t bytes, const Stamp& stamp) {
  if (const Transfer* other = overlapping(source, bytes, false)) {
    die(*stamp.what + " reads page-locked memory that the host does not know to be filled yet by " +
        *other->stamp.what + ": not on the list of what works");
  }
  under_way_.push_back({source, bytes, true, hash_of(source, bytes), {}, stamp});
}

std::shared_ptr<std::vector<char>> Transfers::download(char* target, std::size_t bytes, const Stamp& stamp) {
  if (const Transfer* other = overlapping(target, bytes, true)) {
    die(*stamp.what + " writes page-locked memory that the host does not know to be free yet of " +
        *other->stamp.what + ": not on the list of what works");
  }
  std::memset(target, garbage, bytes);
  auto copy = std::make_shared<std::vector<char>>(bytes);
  under_way_.push_back({target, bytes, false, 0, copy, stamp});
  return copy;
}

void Transfers::settle(const Clock& clock) {
  std::erase_if(under_way_, [&](const Transfer& transfer) {
    if (!clock.covers(transfer.stamp)) {
      return false;
    }
    if (transfer.upload && hash_of(transfer.memory, transfer.bytes) != transfer.hash) {
      die("the host has changed page-locked memory while it was under way: " + *transfer.stamp.what);
    }
    if (!transfer.upload) {
      std::memcpy(const_cast<char*>(transfer.memory), transfer.copy->data(), transfer.bytes);
    }
    return true;
  });
}

void Transfers::must_be_idle(const char* memory, std::size_t bytes, const std::string& call) const {
  if (const Transfer* transfer = overlapping(memory, bytes, true)) {
    die(call + " of memory that takes part in " + *transfer->stamp.what +
        ", which the host does not know to be done");
  }
}

}  // namespace fake_gpu
