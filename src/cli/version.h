#pragma once

#include <string>

namespace lockstep::cli {

// Lockstep's own version, and each library's: as built with, and as it runs here.
std::string version_text();

}  // namespace lockstep::cli
