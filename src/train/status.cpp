#include "train/status.h"

#include <fmt/format.h>

#include <type_traits>

#include "core/json.h"
#include "core/text.h"

namespace lockstep::train {

namespace {

// The one list of what the file holds: visit(name, field) for each.
template <typename AnyStatus, typename Visit>
void visit_fields(AnyStatus& status, Visit&& visit) {
  visit("job", status.job);
  visit("restart", status.restart);
  visit("node", status.node);
  visit("ranks", status.ranks);
  visit("phase", status.phase);
  visit("step", status.step);
  visit("total", status.total);
  visit("epoch", status.epoch);
  visit("loss", status.loss);
  visit("learning_rate", status.learning_rate);
  visit("samples_per_second", status.samples_per_second);
  visit("seconds_left", status.seconds_left);
  visit("checkpoint_step", status.checkpoint_step);
  visit("checkpoint_time", status.checkpoint_time);
  visit("evaluation_step", status.evaluation_step);
  visit("evaluation_loss", status.evaluation_loss);
  visit("evaluation_accuracy", status.evaluation_accuracy);
  visit("gpu_utilisation", status.gpu_utilisation);
  visit("gpu_memory", status.gpu_memory);
  visit("gpu_clock", status.gpu_clock);
  visit("gpu_power", status.gpu_power);
  visit("gpu_temperature", status.gpu_temperature);
  visit("gpu_throttled", status.gpu_throttled);
  visit("stragglers", status.stragglers);
  visit("end_time", status.end_time);
  visit("written", status.written);
}

void write(std::string& out, const char* name, const std::string& text) {
  out += fmt::format("{}={}\n", name, one_line(text));
}

template <typename Number>
requires std::is_arithmetic_v<Number>
void write(std::string& out, const char* name, Number value) {
  out += fmt::format("{}={}\n", name, value);
}

template <typename Value>
void write(std::string& out, const char* name, const std::optional<Value>& value) {
  if (value) write(out, name, *value);
}

std::string json(const std::string& text) {
  return json_text(text);
}
std::string json(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string json(double value) {
  return json_number(value);
}
template <typename Value>
std::string json(const std::optional<Value>& value) {
  return value ? json(*value) : "null";
}

void read(const std::string& text, std::string& value) {
  value = text;
}
void read(const std::string& text, std::int64_t& value) {
  value = parse_int(text).value_or(0);
}
void read(const std::string& text, double& value) {
  value = parse_double(text).value_or(0);
}
void read(const std::string& text, std::optional<std::int64_t>& value) {
  value = parse_int(text);
}
void read(const std::string& text, std::optional<double>& value) {
  value = parse_double(text);
}

}  // namespace

std::string json_members(const Status& status) {
  std::string out;
  visit_fields(status, [&](const char* name, const auto& field) {
    out += fmt::format("{}\"{}\":{}", out.empty() ? "" : ",", name, json(field));
  });
  return out;
}

std::string to_text(const Status& status) {
  std::string out;
  visit_fields(status, [&](const char* name, const auto& field) { write(out, name, field); });
  return out;
}

Status parse_status(std::string_view text) {
  const auto values = parse_key_values(text);
  Status status;
  visit_fields(status, [&](const char* name, auto& field) {
    if (const auto at = values.find(name); at != values.end()) read(at->second, field);
  });
  return status;
}

}  // namespace lockstep::train
