#include "train/event_record.h"

#include <bit>
#include <boost/crc.hpp>
#include <concepts>

namespace lockstep::train {

namespace {

// Field numbers of event.proto and summary.proto.
constexpr std::uint64_t event_wall_time = 1;
constexpr std::uint64_t event_step = 2;
constexpr std::uint64_t event_file_version = 3;
constexpr std::uint64_t event_summary = 5;
constexpr std::uint64_t event_session_log = 7;
constexpr std::uint64_t summary_value = 1;
constexpr std::uint64_t value_tag = 1;
constexpr std::uint64_t value_simple = 2;
constexpr std::uint64_t session_status = 1;
constexpr std::uint64_t session_started = 1;

enum WireType : std::uint64_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

template <std::unsigned_integral T>
void put_little_endian(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, std::uint64_t field, WireType type) {
  put_varint(out, (field << 3) | type);
}

void put_number(std::string& out, std::uint64_t field, std::uint64_t value) {
  put_key(out, field, varint);
  put_varint(out, value);
}

void put_bytes(std::string& out, std::uint64_t field, std::string_view value) {
  put_key(out, field, bytes);
  put_varint(out, value.size());
  out += value;
}

std::string event(double wall, std::int64_t step) {
  std::string out;
  put_key(out, event_wall_time, fixed64);
  put_little_endian(out, std::bit_cast<std::uint64_t>(wall));
  put_number(out, event_step, static_cast<std::uint64_t>(step));
  return out;
}

// CRC-32C, turned and shifted as this format wants it, so that a checksum of a checksum means something.
std::uint32_t masked_checksum(std::string_view data) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(data.data(), data.size());
  return std::rotr(static_cast<std::uint32_t>(crc.checksum()), 15) + 0xA282EAD8U;
}

}  // namespace

std::string version_event(double wall) {
  std::string out = event(wall, 0);
  put_bytes(out, event_file_version, "brain.Event:2");
  return out;
}

std::string scalars_event(double wall, std::int64_t step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    put_bytes(value, value_tag, scalar.tag);
    put_key(value, value_simple, fixed32);
    put_little_endian(value, std::bit_cast<std::uint32_t>(static_cast<float>(scalar.value)));
    put_bytes(summary, summary_value, value);
  }
  std::string out = event(wall, step);
  put_bytes(out, event_summary, summary);
  return out;
}

std::string restart_event(double wall, std::int64_t step) {
  std::string session;
  put_number(session, session_status, session_started);
  std::string out = event(wall, step);
  put_bytes(out, event_session_log, session);
  return out;
}

std::string framed(std::string_view message) {
  std::string length;
  put_little_endian(length, static_cast<std::uint64_t>(message.size()));
  std::string out = length;
  put_little_endian(out, masked_checksum(length));
  out += message;
  put_little_endian(out, masked_checksum(message));
  return out;
}

}  // namespace lockstep::train
