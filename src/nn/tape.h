// Records the operations of a forward pass and replays them backward: a model is written once, as forward
// code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "device/device.h"
#include "nn/forward_context.h"
#include "nn/parameter_set.h"

namespace lockstep::nn {

// A value inside a forward pass. Cheap to copy; valid as long as its tape.
struct Variable {
  device::Tensor value;
  // Where the tape collects this value's gradient; no_gradient for inputs and in evaluation.
  std::size_t slot = no_gradient;

  static constexpr std::size_t no_gradient = static_cast<std::size_t>(-1);
  bool needs_gradient() const { return slot != no_gradient; }
};

struct BackwardOptions {
  // Add to the gradients that are there (later micro-batches of a step) instead of overwriting them.
  bool accumulate = false;
  // Called once per parameter with its index, as soon as its gradient is final, in the order of the replay;
  // those that the forward pass did not use come last (their gradient is zero, or stays when accumulating).
  std::function<void(std::size_t parameter)> on_gradient_final;
};

// One forward pass over one micro-batch and at most one backward pass. Not thread-safe.
class Tape {
 public:
  Tape(ParameterSet& parameters, const ForwardContext& context);
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // ---- For the training loop
  // -------------------------------------------------------------------------------- Data from outside; no
  // gradient flows into it unless asked for (tests do).
  Variable input(device::Tensor value, bool needs_gradient = false);
  // Replays in reverse order; frees what the operations kept as it goes. Error(internal) in evaluation or
  // twice.
  void backward(const BackwardOptions& options = {});
  // Of a variable that needs one, after backward(): only for inputs, others are freed. Empty if none arrived.
  const device::Tensor& gradient(const Variable& variable) const { return gradients_[variable.slot]; }

  // What the pass has recorded for the model's buffers (contract C1: they belong to the micro-batch), laid
  // out like ParameterSet::buffer_values(); empty in evaluation and for a model without buffers.
  const device::Tensor& statistics() const { return statistics_; }

  // ---- For the operations
  // ----------------------------------------------------------------------------------- Gets the gradient
  // with respect to the operation's result, which it may overwrite; hands on those of its inputs by
  // add_gradient; writes those of its parameters, adding where accumulates() says so, and calls finish_use().
  using Backward = std::function<void(Tape& tape, const device::Tensor& gradient)>;

  bool training() const { return context_.training; }
  const ForwardContext& context() const { return context_; }
  device::Device& device() const { return parameters_.device(); }
  const ParameterSet& parameters() const { return parameters_; }
  // Numbers the dropout layers of this pass in forward order.
  std::int64_t next_dropout_layer() { return dropout_layers_++; }

  // The result of an operation. `backward` is kept only in training and only if there is an input or a
  // parameter to give a gradient to. Each of `used_parameters` must be finished once by `backward`.
  Variable record(device::Tensor value, bool inputs_need_gradient,
                  std::initializer_list<std::size_t> used_parameters, Backward backward);
  // `gradient` becomes the tape's: nobody else holds it, as later operations overwrite it. Ignored if the
  // variable needs none.
  void add_gradient(const Variable& variable, device::Tensor gradient);
  // Whether this use of the parameter adds to its gradient (else it overwrites).
  bool accumulates(std::size_t parameter) const { return written_[parameter] || options_.accumulate; }
  // Where a training pass writes what it saw for a buffer; once per pass, else Error(internal).
  device::Tensor record_statistic(std::size_t buffer);
  // This use has been added; after the last one the gradient is final.
  void finish_use(std::size_t parameter);

 private:
  struct Node {
    std::size_t slot;  // of its result
    Backward backward;
  };

  void announce(std::size_t parameter);

  ParameterSet& parameters_;
  ForwardContext context_;
  BackwardOptions options_;
  std::vector<Node> nodes_;
  std::vector<device::Tensor> gradients_;  // by slot
  std::vector<int> uses_left_;             // by parameter
  std::vector<char> written_;              // by parameter: this backward pass has been here
  std::vector<char> final_;                // by parameter: announced
  device::Tensor statistics_;
  std::vector<char> recorded_;  // by buffer
  std::int64_t dropout_layers_ = 0;
  bool replayed_ = false;
};

}  // namespace lockstep::nn
