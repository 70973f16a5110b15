// Slurm's own header, whose callbacks are C functions although it declares them outside its extern "C".
#pragma once

extern "C" {
#include <slurm/spank.h>
}
