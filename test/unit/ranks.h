// Runs a function on N threads as N ranks.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "comm/thread_transport.h"
#include "core/error.h"

// Catch2's assertions are for one thread alone: ranks use this.
inline void need(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("wrong: " + what);
}

// What the given call says on a rank where it must fail because of a peer.
inline std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const lockstep::Error& error) {
    need(error.code() == lockstep::ExitCode::peer_failed, std::string("the exit code of: ") + error.what());
    return error.what();
  }
  throw std::runtime_error("nothing was thrown");
}

inline void need_text(const std::string& text, const std::string& part) {
  need(text.find(part) != std::string::npos, "\"" + text + "\" does not say \"" + part + "\"");
}

// Returns when all ranks have; throws what they threw in one text, each named by its rank.
inline void as_ranks(int size, const std::function<void(int rank)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        std::string& error = errors[static_cast<std::size_t>(rank)];
        try {
          body(rank);
        } catch (const std::exception& thrown) {
          error = "rank " + std::to_string(rank) + ": " + thrown.what() + "\n";
        }
      });
    }
  }
  std::string all;
  for (const std::string& error : errors) all += error;
  if (!all.empty()) throw std::runtime_error(all);
}

// The same with a transport for each rank, on the nodes that `hosts` names, or on one.
using RankBody = std::function<void(std::unique_ptr<lockstep::comm::Transport> transport)>;
inline void as_ranks(int size, const std::vector<std::string>& hosts, const RankBody& body) {
  auto transports = lockstep::comm::make_thread_transports(size, hosts);
  as_ranks(size, [&](int rank) { body(std::move(transports[static_cast<std::size_t>(rank)])); });
}
