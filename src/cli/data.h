// `lockstep data ...`: make, look at and check datasets. Needs no MPI.
#pragma once

#include <span>
#include <string>

namespace lockstep::cli {

int data_command(std::span<const std::string> args);

// `lockstep data import FORMAT ...`; `args` are the words after "import".
int data_import_command(std::span<const std::string> args);

}  // namespace lockstep::cli
