// Memory of an algorithm's own for messages. Where an error leaves the algorithm, messages may still be under
// way there: then the memory passes to the transport, and stays as long as that does.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "comm/transport.h"

namespace lockstep::comm {

class Room {
 public:
  // Zeros.
  Room(Transport& transport, std::size_t bytes)
      : rooms_(*transport.rooms_), mine_(rooms_.emplace(rooms_.end(), bytes)) {}
  ~Room() {
    if (std::uncaught_exceptions() == exceptions_) rooms_.erase(mine_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  std::span<std::byte> bytes() { return *mine_; }

 private:
  Transport::Rooms& rooms_;
  Transport::Rooms::iterator mine_;
  int exceptions_ = std::uncaught_exceptions();
};

// The same for `count` values of a type that is its bytes, value-initialised.
template <typename T>
class RoomFor {
 public:
  RoomFor(Transport& transport, std::size_t count) : room_(transport, count * sizeof(T)) {
    std::uninitialized_value_construct_n(reinterpret_cast<T*>(room_.bytes().data()), count);
    values_ = {std::launder(reinterpret_cast<T*>(room_.bytes().data())), count};
  }
  std::span<T> values() { return values_; }
  std::span<std::byte> bytes() { return room_.bytes(); }

 private:
  static_assert(std::is_trivially_copyable_v<T>);
  Room room_;
  std::span<T> values_;
};

}  // namespace lockstep::comm
