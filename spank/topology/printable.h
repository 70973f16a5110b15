// For text from a file that goes into a message.
#pragma once

#include <string>

namespace lockstep::spank {

// Control characters as '?', so that no file can write on a terminal.
inline std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return text;
}

}  // namespace lockstep::spank
