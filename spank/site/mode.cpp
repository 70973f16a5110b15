#include "site/mode.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep::spank {

namespace {

constexpr std::array<std::pair<std::string_view, Mode>, 5> modes = {{{"auto", Mode::automatic},
                                                                     {"off", Mode::off},
                                                                     {"show", Mode::show},
                                                                     {"warn", Mode::warn},
                                                                     {"strict", Mode::strict}}};
constexpr std::array<std::pair<std::string_view, TorchMode>, 3> torch_modes = {
    {{"auto", TorchMode::automatic}, {"on", TorchMode::on}, {"off", TorchMode::off}}};

template <typename Table, typename Value>
std::string_view word_of(const Table& table, Value value) {
  for (const auto& [word, candidate] : table) {
    if (candidate == value) return word;
  }
  return {};
}

// Without the locale, which belongs to whoever runs the plugin.
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_same_word(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char l, char r) { return lower(l) == lower(r); });
}

template <typename Value, typename Table>
std::optional<Value> value_of(const Table& table, std::string_view word) {
  for (const auto& [candidate, value] : table) {
    if (is_same_word(candidate, word)) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Mode> parse_mode(std::string_view word) {
  return value_of<Mode>(modes, word);
}
std::string_view name_of(Mode mode) {
  return word_of(modes, mode);
}
std::optional<TorchMode> parse_torch_mode(std::string_view word) {
  return value_of<TorchMode>(torch_modes, word);
}
std::string_view name_of(TorchMode mode) {
  return word_of(torch_modes, mode);
}

}  // namespace lockstep::spank
