// Lists of device names as NCCL reads them in NCCL_SOCKET_IFNAME and NCCL_IB_HCA: "eth,ib" by prefix, "=eth0"
// by full name, "^docker" all but these, "mlx5_0:1" with a port.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::spank {

class NameList {
 public:
  explicit NameList(std::string_view text);

  // Port -1: of no port in particular.
  bool selects(std::string_view name, int port = -1) const;

 private:
  struct Entry {
    std::string name;
    int port = -1;
  };
  bool exclude_ = false;
  bool exact_ = false;
  std::vector<Entry> entries_;
};

}  // namespace lockstep::spank
