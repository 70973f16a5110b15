// How the text of a key becomes a member of Config: one function per kind of value. Each takes the section
// and the member in it, as pointers, and gives a setter that throws std::invalid_argument saying what is
// wanted.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "train/config.h"

namespace lockstep::train {

using Setter = std::function<void(Config&, const std::string&)>;

inline constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

std::int64_t parse_whole_number(const std::string& text, std::int64_t least, std::int64_t most);
double parse_power_of_two(const std::string& text, double least, double most);
double parse_real_number(const std::string& text, double least, double most);
bool parse_flag(const std::string& text);
std::vector<std::int64_t> parse_sizes(const std::string& text);
const std::string& require_path(const std::string& text);
const std::string& require_command(const std::string& text);
const std::string& require_choice(const std::string& text, const std::vector<std::string>& choices);

// `Section` and `Member` are the types of the pointers' targets.
template <typename Section, typename Member>
Setter whole(Section Config::*section, Member Section::*member, std::int64_t least,
             std::int64_t most = unbounded) {
  return [=](Config& config, const std::string& text) {
    config.*section.*member = static_cast<Member>(parse_whole_number(text, least, most));
  };
}

template <typename Section>
Setter real(Section Config::*section, double Section::*member, double least, double most = HUGE_VAL) {
  return [=](Config& config, const std::string& text) {
    config.*section.*member = parse_real_number(text, least, most);
  };
}

template <typename Section>
Setter power_of_two(Section Config::*section, double Section::*member, double least, double most) {
  return [=](Config& config, const std::string& text) {
    config.*section.*member = parse_power_of_two(text, least, most);
  };
}

template <typename Section>
Setter flag(Section Config::*section, bool Section::*member) {
  return [=](Config& config, const std::string& text) { config.*section.*member = parse_flag(text); };
}

template <typename Section>
Setter text(Section Config::*section, std::string Section::*member) {
  return [=](Config& config, const std::string& value) { config.*section.*member = value; };
}

template <typename Section>
Setter command(Section Config::*section, std::string Section::*member) {
  return [=](Config& config, const std::string& value) { config.*section.*member = require_command(value); };
}

template <typename Section>
Setter required_path(Section Config::*section, std::string Section::*member) {
  return [=](Config& config, const std::string& value) { config.*section.*member = require_path(value); };
}

template <typename Section>
Setter one_of(Section Config::*section, std::string Section::*member, std::vector<std::string> choices) {
  return [=, choices = std::move(choices)](Config& config, const std::string& value) {
    config.*section.*member = require_choice(value, choices);
  };
}

template <typename Section>
Setter sizes(Section Config::*section, std::vector<std::int64_t> Section::*member) {
  return [=](Config& config, const std::string& value) { config.*section.*member = parse_sizes(value); };
}

}  // namespace lockstep::train
