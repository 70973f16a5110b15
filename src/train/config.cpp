#include "train/config.h"

#include "optim/loss_scale.h"
#include "train/config_setters.h"

namespace lockstep::train {

namespace {

using C = Config;

std::vector<Key> make_keys() {
  constexpr auto refused = Change::refused;
  constexpr auto allowed = Change::allowed;
  return {
      {"run.dir", "", "run folder: checkpoints, metrics, outcome; default checkpoints/NAME for NAME.conf",
       allowed, text(&C::run, &C::Run::dir)},
      {"run.seed", "1", "seed of everything random", refused, whole(&C::run, &C::Run::seed, 0)},
      {"run.log_every", "20", "steps between progress lines", allowed, whole(&C::run, &C::Run::log_every, 1)},
      {"run.hook", "", "shell command that hears of starts, stops, requeues, the end, failures and alerts",
       allowed, command(&C::run, &C::Run::hook)},
      {"run.tensorboard", "on", "TensorBoard event files in the run folder: on or off", allowed,
       flag(&C::run, &C::Run::tensorboard)},

      {"data.train", "", "folder with the training shards (docs/shard-format.md)", allowed,
       required_path(&C::data, &C::Data::train)},
      {"data.test", "", "folder with the test shards; empty: no evaluation", allowed,
       text(&C::data, &C::Data::test)},
      {"data.shuffle_window", "4096", "samples of a lane that are shuffled together", refused,
       whole(&C::data, &C::Data::shuffle_window, 1)},
      {"data.prefetch", "4", "micro-batches that wait ready on each rank", allowed,
       whole(&C::data, &C::Data::prefetch, 1, 1024)},
      {"data.crop_padding", "0", "training images are padded by so many pixels and cropped at random; 0: not",
       refused, whole(&C::data, &C::Data::crop_padding, 0, 1024)},
      {"data.flip", "off", "half of the training images are mirrored left to right: on or off", refused,
       flag(&C::data, &C::Data::flip)},
      {"data.check", "full", "what is looked at before the first step: full, labels or layout", allowed,
       one_of(&C::data, &C::Data::check, {"full", "labels", "layout"})},

      {"model.name", "mlp", "mlp, cnn or resnet", refused, text(&C::model, &C::Model::name)},
      {"model.hidden", "", "widths of the hidden linear layers, as 256,128; empty: the model's own", refused,
       sizes(&C::model, &C::Model::hidden)},
      {"model.channels", "", "channels of the convolutions (cnn), as 16,32; empty: the model's own", refused,
       sizes(&C::model, &C::Model::channels)},
      {"model.depth", "20", "layers of resnet: 20, 32, 44, 56 or 110 for small images, 18 or 34", refused,
       whole(&C::model, &C::Model::depth, 1, 1024)},
      {"model.activation", "relu", "of mlp's hidden layers: relu, or gelu (its approximation with tanh)",
       refused, one_of(&C::model, &C::Model::activation, {"relu", "gelu"})},
      {"model.dropout", "0", "probability that a dense layer's input is dropped in training", refused,
       real(&C::model, &C::Model::dropout, 0, 0.99)},

      {"optim.name", "sgd", "optimizer: sgd or adamw", refused, text(&C::optim, &C::Optim::name)},
      {"optim.lr", "0.05", "learning rate after the warm-up", allowed, real(&C::optim, &C::Optim::lr, 0)},
      {"optim.momentum", "0.9", "momentum of sgd", allowed, real(&C::optim, &C::Optim::momentum, 0, 1)},
      {"optim.beta1", "0.9", "decay of adamw's first moment", allowed,
       real(&C::optim, &C::Optim::beta1, 0, 1)},
      {"optim.beta2", "0.999", "decay of adamw's second moment", allowed,
       real(&C::optim, &C::Optim::beta2, 0, 1)},
      {"optim.eps", "1e-8", "added to the root of adamw's second moment", allowed,
       real(&C::optim, &C::Optim::eps, 0)},
      {"optim.weight_decay", "0", "weight decay; not applied to biases and normalisation", allowed,
       real(&C::optim, &C::Optim::weight_decay, 0)},
      {"optim.clip_norm", "0", "clip the gradient's global L2 norm to this; 0: no clipping", allowed,
       real(&C::optim, &C::Optim::clip_norm, 0)},
      {"optim.schedule", "constant", "learning rate: constant, linear, cosine or wsd", allowed,
       one_of(&C::optim, &C::Optim::schedule, {"constant", "linear", "cosine", "wsd"})},
      {"optim.warmup_steps", "0", "steps of linear warm-up", allowed,
       whole(&C::optim, &C::Optim::warmup_steps, 0)},
      {"optim.decay_steps", "0", "wsd: steps of decay at the end; 0: a tenth of train.steps", allowed,
       whole(&C::optim, &C::Optim::decay_steps, 0)},
      {"optim.min_lr", "0", "what linear, cosine and wsd go down to, reached after the last step", allowed,
       real(&C::optim, &C::Optim::min_lr, 0)},
      {"optim.ema_decay", "0", "evaluate an exponential moving average of the weights; 0: the weights",
       refused, real(&C::optim, &C::Optim::ema_decay, 0, 0.999999)},

      {"train.steps", "1000", "optimizer steps in total, over all attempts", allowed,
       whole(&C::train, &C::Train::steps, 1)},
      {"train.global_batch", "128", "samples per optimizer step, over all ranks", refused,
       whole(&C::train, &C::Train::global_batch, 1)},
      {"train.micro_batch", "32", "samples that are computed at once; divides global_batch", refused,
       whole(&C::train, &C::Train::micro_batch, 1)},
      {"train.reduction", "fast", "fast, or exact: the same bits at any number of ranks", refused,
       one_of(&C::train, &C::Train::reduction, {"fast", "exact"})},
      {"train.loss", "cross_entropy", "cross_entropy for class labels, mse for numbers", refused,
       one_of(&C::train, &C::Train::loss, {"cross_entropy", "mse"})},
      {"train.label_smoothing", "0", "part of the target that is spread over all classes", refused,
       real(&C::train, &C::Train::label_smoothing, 0, 1)},
      {"train.threads", "0", "threads per rank; 0: SLURM_CPUS_PER_TASK, else 1", allowed,
       whole(&C::train, &C::Train::threads, 0, 1024)},
      {"train.device", "auto", "cpu, cuda, or auto: a GPU for each rank where there is one", allowed,
       one_of(&C::train, &C::Train::device, {"auto", "cpu", "cuda"})},
      {"train.device_memory", "0.9", "share of a GPU's free memory that a rank takes at its start", allowed,
       real(&C::train, &C::Train::device_memory, 0.01, 1)},
      {"train.precision", "f32", "of activations and products: f32, bf16, or fp16, which scales the loss",
       refused, one_of(&C::train, &C::Train::precision, {"f32", "bf16", "fp16"})},
      {"train.loss_scale", "1024",
       "fp16: factor of the loss, summed over a micro-batch, at the start; it halves whenever gradients "
       "overflow",
       allowed,
       power_of_two(&C::train, &C::Train::loss_scale, optim::LossScale::least, optim::LossScale::most)},
      {"train.loss_scale_growth", "2000", "fp16: updates without an overflow after which the factor doubles",
       allowed, whole(&C::train, &C::Train::loss_scale_growth, 1)},

      {"eval.every", "0", "steps between evaluations on the test split; 0: only at the end", allowed,
       whole(&C::eval, &C::Eval::every, 0)},
      {"eval.batch", "250", "samples per evaluation batch", refused, whole(&C::eval, &C::Eval::batch, 1)},
      {"eval.metric", "loss", "what makes an evaluation the best one: loss or accuracy", allowed,
       one_of(&C::eval, &C::Eval::metric, {"loss", "accuracy"})},
      {"eval.patience", "0", "stop early after so many evaluations without a better one; 0: never", allowed,
       whole(&C::eval, &C::Eval::patience, 0)},
      {"eval.min_delta", "0", "how much better an evaluation must be to count", allowed,
       real(&C::eval, &C::Eval::min_delta, 0)},

      {"checkpoint.every", "0", "steps between checkpoints; 0: by time only", allowed,
       whole(&C::checkpoint, &C::Checkpoint::every, 0)},
      {"checkpoint.minutes", "15", "minutes between checkpoints at most; 0: by steps only", allowed,
       real(&C::checkpoint, &C::Checkpoint::minutes, 0)},
      {"checkpoint.keep", "2", "checkpoints to keep", allowed,
       whole(&C::checkpoint, &C::Checkpoint::keep, 1)},
      {"checkpoint.keep_best", "off", "also keep the checkpoint of the best evaluation: on or off", allowed,
       flag(&C::checkpoint, &C::Checkpoint::keep_best)},

      {"guard.anomaly", "stop",
       "loss or gradient not finite, or a spike: stop, skip, or rollback to what checkpoint.every or "
       "keep_best saved, or to the start",
       allowed, one_of(&C::guard, &C::Guard::anomaly, {"stop", "skip", "rollback"})},
      {"guard.spike_factor", "0",
       "a loss of more than so many times its recent mean is a spike; above 1, or 0: never", allowed,
       real(&C::guard, &C::Guard::spike_factor, 0)},
      {"guard.max_anomalies", "10",
       "anomalies in a row, and rollbacks to the same step, that are put up with; one more ends the run",
       allowed, whole(&C::guard, &C::Guard::max_anomalies, 1)},
      {"guard.stalled_minutes", "0", "alert when the loss has not improved for so long; 0: never", allowed,
       real(&C::guard, &C::Guard::stalled_minutes, 0)},
      {"guard.compare_every", "100",
       "steps between comparisons of the ranks' copies of the state, also made before each checkpoint; 0: "
       "never",
       allowed, whole(&C::guard, &C::Guard::compare_every, 0)},
      {"guard.straggler_factor", "1.3",
       "name a rank whose own work takes more than so many times the median rank's; above 1, or 0: never",
       allowed, real(&C::guard, &C::Guard::straggler_factor, 0)},
      {"guard.straggler_steps", "50",
       "steps over which ranks are compared for that; the first 3 of an attempt never count", allowed,
       whole(&C::guard, &C::Guard::straggler_steps, 1)},

      {"comm.algorithm", "auto",
       "sum of the gradients in fast mode: auto chooses by size and places; ring, direct, doubling, or mpi "
       "for "
       "the library's own",
       allowed, one_of(&C::comm, &C::Comm::algorithm, {"auto", "ring", "direct", "doubling", "mpi"})},
      {"comm.overlap", "auto",
       "sum gradients while others are still computed: on, off, or auto, which tries both in the first steps",
       allowed, one_of(&C::comm, &C::Comm::overlap, {"auto", "on", "off"})},
      {"comm.bucket_mib", "4",
       "MiB of gradients that are summed at once: each bucket while later ones are computed", allowed,
       whole(&C::comm, &C::Comm::bucket_mib, 1, 4096)},
      {"comm.dtype", "f32",
       "of gradients on their way between ranks: f32, or bf16 for half the bytes, rounded, in fast mode",
       refused, one_of(&C::comm, &C::Comm::dtype, {"f32", "bf16"})},

      {"limits.start", "600",
       "seconds without progress in start-up and resume before the run gives up (exit 76)", allowed,
       real(&C::limits, &C::Limits::start, 1)},
      {"limits.step", "300", "seconds for one step, its wait for data included", allowed,
       real(&C::limits, &C::Limits::step, 1)},
      {"limits.eval", "600", "seconds for one evaluation", allowed, real(&C::limits, &C::Limits::eval, 1)},
      {"limits.checkpoint", "600", "seconds for one checkpoint; the last one is tried again for so long",
       allowed, real(&C::limits, &C::Limits::checkpoint, 1)},
  };
}

}  // namespace

std::span<const Key> config_keys() {
  static const std::vector<Key> keys = make_keys();
  return keys;
}

}  // namespace lockstep::train
