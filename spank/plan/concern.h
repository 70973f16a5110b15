// One part of the set-up, each in a file of its own; concerns.cpp lists them in the order in which they run.
#pragma once

#include "machine/machine.h"
#include "plan/settings.h"
#include "site/profile.h"
#include "step/step.h"

namespace lockstep::spank {

// All that a decision may depend on besides the settings made so far.
struct Facts {
  const Step& step;
  const Machine& machine;
  const Profile& profile;
  const NcclConf* user_file;  // as it stands, for what NCCL misreads; null: none
  const NcclConf* site_file;
  TorchMode torch = TorchMode::automatic;
  std::string home;       // of the user; empty: not known
  std::string temporary;  // folder for generated files; empty: none may be written (explain)
};

using Concern = void (*)(const Facts&, Settings&);

void set_rendezvous(const Facts& facts, Settings& settings);  // MASTER_ADDR, MASTER_PORT, NCCL_RAS_ADDR
void set_torch(const Facts& facts, Settings& settings);       // RANK, WORLD_SIZE, ... or PET_* for torchrun
void set_hcas(const Facts& facts, Settings& settings);  // NCCL_IB_HCA, NCCL_IB_GID_INDEX, UCX_NET_DEVICES
void set_interface(const Facts& facts, Settings& settings);   // NCCL_SOCKET_IFNAME, _FAMILY, GLOO_, OMPI_
void set_topology(const Facts& facts, Settings& settings);    // NCCL_TOPO_FILE, LOCKSTEP_TOPOLOGY
void set_limits(const Facts& facts, Settings& settings);      // memlock, /dev/shm
void look_at_gpus(const Facts& facts, Settings& settings);    // visible GPUs, tasks per node
void look_at_files(const Facts& facts, Settings& settings);   // NCCL_GRAPH_FILE, contradictions
void set_debug_file(const Facts& facts, Settings& settings);  // NCCL_DEBUG_FILE

}  // namespace lockstep::spank
