// How much the plugin does. Written the same in options, environment, profiles and plugstack.conf.
#pragma once

#include <optional>
#include <string_view>

namespace lockstep::spank {

enum class Mode {
  automatic,  // sets; tells of what is wrong
  off,        // leaves everything as it is
  show,       // sets, and rank 0 prints the table
  warn,       // sets nothing; tells of what is wrong
  strict,     // sets; what is wrong fails the step
};

enum class TorchMode { automatic, on, off };

// "auto", "off", "show", "warn", "strict", in capitals too; nothing for any other word.
std::optional<Mode> parse_mode(std::string_view word);
std::string_view name_of(Mode mode);

// "auto", "on", "off", likewise.
std::optional<TorchMode> parse_torch_mode(std::string_view word);
std::string_view name_of(TorchMode mode);

}  // namespace lockstep::spank
