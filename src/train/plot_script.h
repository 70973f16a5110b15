// Pictures of curves, as scripts for gnuplot.
#pragma once

#include <string>
#include <vector>

#include "train/curves.h"

namespace lockstep::train {

struct Curve {
  std::string title;
  Series points;
  enum class Style { faint, strong, marked } style;
};

struct Picture {
  std::string title;
  std::string y_label;
  std::vector<Curve> curves;
  bool percent = false;              // the y axis goes from 0 to 100
  std::vector<double> missing = {};  // steps (missing_steps()) where no line goes on
};

// A script that draws the picture into the file `png`: the curves over the step, from 0 to `last_step`, with
// the attempts behind them. Whatever texts and paths hold, none of it is run.
std::string plot_script(const Picture& picture, const Attempts& attempts, std::int64_t last_step,
                        const std::string& png);

}  // namespace lockstep::train
