// How long a device stands at some places among its operations, because it waits there for something that is
// not its own work: for data, or for other ranks.
#pragma once

namespace lockstep::device {

// Where operations happen when they are called, the caller's time is the device's (HostStopwatch). A device
// that is given work ahead waits later than its caller, or not at all: it takes the time itself.
class Stopwatch {
 public:
  Stopwatch() = default;
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  virtual ~Stopwatch() = default;

  // A stretch: no operation is called between these two, which alternate. Best by a Stretch. Where the time
  // cannot be taken, there is none: that is no failure of whoever is timed.
  virtual void start() noexcept = 0;
  virtual void stop() noexcept = 0;

  // Forgets all stretches so far, the one that is open too.
  virtual void restart() noexcept = 0;
  // The sum of the stretches that the device is known to have passed: of all of them when the device has been
  // waited for since the last. Waits for nothing.
  virtual double seconds() noexcept = 0;

  // One stretch, of its own lifetime.
  class Stretch {
   public:
    explicit Stretch(Stopwatch& watch) : watch_(watch) { watch_.start(); }
    ~Stretch() { watch_.stop(); }
    Stretch(const Stretch&) = delete;
    Stretch& operator=(const Stretch&) = delete;

   private:
    Stopwatch& watch_;
  };
};

class HostStopwatch final : public Stopwatch {
 public:
  void start() noexcept override;
  void stop() noexcept override;
  void restart() noexcept override { sum_ = 0; }
  double seconds() noexcept override { return sum_; }

 private:
  double begin_ = 0;
  double sum_ = 0;
};

}  // namespace lockstep::device
