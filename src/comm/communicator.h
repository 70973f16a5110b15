// Collectives and messages on tensors in the memory of one device type: what gradients, parameters and
// activations travel by. Small messages that ranks agree by are a Group's business (group.h).
//
// Calls start something and return; it is done when wait() of what they return has come back. On a GPU a call
// comes behind all operations of the device before it, wait() lets those that follow wait, and comes back at
// once. Until then nobody else touches the tensors. All ranks make the same collective calls in the same
// order, and things happen in the order of the calls. One thread at a time calls, but for abort(). A failure
// or a wait beyond the limit throws Error(peer_failed) that names the missing ranks with their nodes, from
// wait() and from every later call; after it no further collective may be entered (contract C7), and abort()
// is all that is left to do.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "device/tensor.h"

namespace lockstep::comm {

// A call that is under way. Cheap to copy. Throwing it away does not cancel anything.
class Pending {
 public:
  class Work {
   public:
    virtual ~Work() = default;
    virtual bool done() = 0;
    virtual void wait() = 0;
  };

  Pending() = default;  // done
  explicit Pending(std::shared_ptr<Work> work) : work_(std::move(work)) {}

  // Never blocks; throws as wait() does.
  bool done() { return !work_ || work_->done(); }
  void wait() {
    if (work_) work_->wait();
  }

 private:
  std::shared_ptr<Work> work_;
};

class Communicator {
 public:
  struct Message {
    int peer;
    device::Tensor data;  // contiguous, any dtype
  };

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& host(int rank) const = 0;

  // Sums of f32, bf16 or f16 tensors. 16-bit values are added in f32 and rounded once at the end. The result
  // has the same bits on every rank, and from run to run for the same number of ranks and places,
  // as long as the nodes' ranks can share memory in both runs, or in neither. In place.
  virtual Pending all_reduce(const device::Tensor& data) = 0;
  // `all` is size() slices of mine.count() elements; rank r gets the sum of slice r in `mine`, which may be
  // slice r of `all`. The rest of `all` is undefined afterwards.
  virtual Pending reduce_scatter(const device::Tensor& all, const device::Tensor& mine) = 0;

  // Any dtype. Slice r of `all` becomes rank r's `mine`, which may be that slice.
  virtual Pending all_gather(const device::Tensor& mine, const device::Tensor& all) = 0;
  virtual Pending broadcast(const device::Tensor& data, int root) = 0;
  // Messages between any ranks, all at once; to oneself too. Those of one pair of ranks match in list order
  // and have equal sizes on both sides; empty ones are allowed. One call of exchange() on a rank matches one
  // on each other rank, whose lists may be empty.
  virtual Pending exchange(std::span<const Message> sends, std::span<const Message> receives) = 0;
  virtual void barrier() = 0;

  // Whether calls go on by themselves while the caller computes, where the implementation can choose (on a
  // CPU they take a thread's time for it). If not, they happen inside wait(). Set while nothing is under way.
  virtual void set_background(bool background) = 0;

  // Tells where calls will use memory again and again, for libraries that can prepare themselves; the memory
  // stays as long as the communicator.
  virtual void announce(const device::Tensor& /*buffer*/) {}

  // Ends everything that is under way on this rank with an error, without a word to the others. Any thread.
  virtual void abort() noexcept = 0;

  // For a rank that leaves because of a fault of its own: the others' calls, under way and later, fail with
  // this reason. Takes a moment at most; nothing but the destructor follows.
  virtual void tell(const std::string& reason) noexcept = 0;

  // Asks the library below what it knows of ranks that do not come. Empty where nobody can be asked. Else any
  // thread may call it, also when the communicator is gone: it takes 3 s at most and gives an empty text
  // where there is no answer.
  virtual std::function<std::string()> inquiry() const { return {}; }

  // The same ranks, with messages of its own: each role has one. Collective.
  virtual std::unique_ptr<Communicator> duplicate() = 0;

 protected:
  Communicator() = default;
};

}  // namespace lockstep::comm
