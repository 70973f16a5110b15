// Settings that work against each other or that NCCL reads otherwise than they were meant.
#pragma once

#include <string>

#include "plan/concern.h"

namespace lockstep::spank {

// Looks at what is in effect, whoever has set it.
void look_at_contradictions(const Facts& facts, Settings& settings);

// The part of it that is about sockets and their interfaces.
void look_at_sockets(const Facts& facts, Settings& settings);

// "NAME='VALUE' (ORIGIN)", for a message.
std::string setting(const Decision& decision);

// What takes the setting back, for a remedy: "unset it, or --nccl-unset=NAME".
std::string undo(const Decision& decision);

}  // namespace lockstep::spank
