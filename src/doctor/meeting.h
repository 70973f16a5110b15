// Where all ranks come together between probes, within a time limit: whoever does not come is named, and the
// others leave.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/transport.h"

namespace lockstep::doctor {

class Meeting {
 public:
  // `transport` is used for nothing else. `limit`: seconds that a rank may come later than the first.
  Meeting(std::unique_ptr<comm::Transport> transport, double limit)
      : transport_(std::move(transport)), limit_(limit) {}

  int rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }
  const std::string& host(int rank) const { return transport_->host(rank); }

  // Each rank's text, in rank order, on every rank; `what` the ranks have been at, for people. Throws
  // Error(peer_failed) that names the ranks that did not come: an AgreedError on those
  // that did, an Error where rank 0 is missing.
  // After it nothing more may be asked here.
  std::vector<std::string> gather(std::string_view what, const std::string& mine);

  // Without words.
  void meet(std::string_view what) { gather(what, ""); }

 private:
  std::string collect(std::string_view what, const std::string& mine, std::vector<std::string>& texts,
                      double deadline);

  std::unique_ptr<comm::Transport> transport_;
  double limit_;
};

}  // namespace lockstep::doctor
