// allreduce [--mib=LIST] [--algorithms=LIST] [--dtype=f32|bf16|f16] [--rounds=N] [--tcp-mib=N] [--csv=FILE]
// [--label=TEXT]
//
// Seconds of an all-reduce, by size and algorithm, against the rate of plain sockets on the same links: each
// rank sends to the next and receives from the one before, at once. In every round each algorithm has a turn,
// so that all see the same machine. The slowest rank counts. FILE gets a line for each: label, ranks, dtype,
// bytes, algorithm, median seconds, bus bandwidth in bytes/s, least and most seconds.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <mpi.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "comm/host_communicator.h"
#include "comm/mpi_group.h"
#include "comm/mpi_session.h"
#include "comm/mpi_transport.h"
#include "core/clock.h"

namespace {

using namespace lockstep;  // a program, not a header

struct Options {
  std::vector<std::string> mib{"100"};
  std::vector<std::string> algorithms{"auto", "mpi"};
  device::DType dtype = device::DType::f32;
  int rounds = 5;
  int tcp_mib = 0;  // per rank; 0: not measured
  std::string csv;
  std::string label = "here";
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("--mib=")) {
      options.mib = split(value);
    } else if (argument.starts_with("--algorithms=")) {
      options.algorithms = split(value);
    } else if (argument.starts_with("--rounds=")) {
      options.rounds = std::stoi(value);
    } else if (argument.starts_with("--tcp-mib=")) {
      options.tcp_mib = std::stoi(value);
    } else if (argument.starts_with("--csv=")) {
      options.csv = value;
    } else if (argument.starts_with("--label=")) {
      options.label = value;
    } else if (argument.starts_with("--dtype=")) {
      for (const auto dtype : {device::DType::f32, device::DType::bf16, device::DType::f16}) {
        if (name_of(dtype) == value) options.dtype = dtype;
      }
    } else {
      throw Error(ExitCode::usage, "allreduce: what is " + argument + "?");
    }
  }
  return options;
}

void check(bool good, const char* what) {
  if (!good) throw Error(ExitCode::internal, fmt::format("{}: {}", what, std::strerror(errno)));
}

// The time that every rank takes to send `bytes` to the next one and to get as much, the slowest one's.
double tcp_seconds(comm::Group& group, std::size_t bytes) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  check(::bind(listener, reinterpret_cast<sockaddr*>(&any), sizeof(any)) == 0, "bind");
  check(::listen(listener, 1) == 0, "listen");
  socklen_t length = sizeof(any);
  check(::getsockname(listener, reinterpret_cast<sockaddr*>(&any), &length) == 0, "getsockname");
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  addrinfo hints{};
  hints.ai_family = AF_INET;
  addrinfo* found = nullptr;
  check(::getaddrinfo(name, nullptr, &hints, &found) == 0, "getaddrinfo");
  any.sin_addr = reinterpret_cast<sockaddr_in*>(found->ai_addr)->sin_addr;
  ::freeaddrinfo(found);
  const auto addresses = comm::gather_values(group, any);
  const auto next = addresses[static_cast<std::size_t>((group.rank() + 1) % group.size())];

  const int out = ::socket(AF_INET, SOCK_STREAM, 0);
  check(::connect(out, reinterpret_cast<const sockaddr*>(&next), sizeof(next)) == 0, "connect");
  const int in = ::accept(listener, nullptr, nullptr);
  check(in >= 0, "accept");
  double seconds = 1e30;
  for (int round = 0; round < 3; ++round) {
    group.barrier();
    const double begin = monotonic_seconds();
    std::jthread sender([&] {
      std::vector<char> data(std::size_t{1} << 20, 'x');
      for (std::size_t sent = 0; sent < bytes;) {
        const auto count = ::send(out, data.data(), std::min(data.size(), bytes - sent), 0);
        if (count <= 0) std::abort();
        sent += static_cast<std::size_t>(count);
      }
    });
    std::vector<char> data(std::size_t{1} << 20);
    for (std::size_t came = 0; came < bytes;) {
      const auto count = ::recv(in, data.data(), std::min(data.size(), bytes - came), 0);
      check(count > 0, "recv");
      came += static_cast<std::size_t>(count);
    }
    sender.join();
    const auto all = comm::gather_values(group, monotonic_seconds() - begin);
    seconds = std::min(seconds, *std::max_element(all.begin(), all.end()));
  }
  ::close(in);
  ::close(out);
  ::close(listener);
  return seconds;
}

device::Tensor zeros(device::DType dtype, std::size_t bytes) {
  auto memory = std::make_shared<std::vector<float>>((bytes + 3) / 4);
  const auto count = static_cast<std::int64_t>(bytes / size_of(dtype));
  return {std::shared_ptr<void>(memory, memory->data()), 0, device::Shape{count}, dtype};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(const Options& options) {
  comm::MpiGroup group(MPI_COMM_WORLD);
  const int ranks = group.size();
  const double share = 2.0 * (ranks - 1) / ranks;  // of the data, that a ring moves through each link
  double rate = 0;
  if (options.tcp_mib > 0) {
    const double bytes = options.tcp_mib * 1048576.0;
    rate = bytes / tcp_seconds(group, static_cast<std::size_t>(bytes));
    if (group.rank() == 0)
      fmt::print("# {}: {} ranks, TCP both ways {:.1f} MB/s\n", options.label, ranks, rate / 1e6);
  }
  std::vector<std::unique_ptr<comm::Communicator>> communicators;
  for (const auto& name : options.algorithms) {
    comm::HostCommunicatorOptions each;
    each.algorithm = comm::algorithm_named(name).value();
    communicators.push_back(std::make_unique<comm::HostCommunicator>(make_mpi_transport(group), each));
  }
  for (const auto& mib : options.mib) {
    const auto bytes = static_cast<std::size_t>(std::stod(mib) * 1048576.0) / 4 * 4;
    const auto data = zeros(options.dtype, bytes);
    // Small ones many times in a row: a clock and a barrier would show more of themselves.
    const int calls = bytes >= (std::size_t{4} << 20) ? 1 : bytes >= (std::size_t{256} << 10) ? 10 : 50;
    std::vector<std::vector<double>> seconds(communicators.size());
    for (int round = -1; round < options.rounds; ++round) {
      for (std::size_t i = 0; i < communicators.size(); ++i) {
        group.barrier();
        const double begin = monotonic_seconds();
        for (int call = 0; call < calls; ++call) communicators[i]->all_reduce(data).wait();
        const auto all = comm::gather_values(group, (monotonic_seconds() - begin) / calls);
        if (round >= 0) seconds[i].push_back(*std::max_element(all.begin(), all.end()));
      }
    }
    if (group.rank() != 0) continue;
    for (std::size_t i = 0; i < communicators.size(); ++i) {
      const double middle = median(seconds[i]);
      const auto [least, most] = std::minmax_element(seconds[i].begin(), seconds[i].end());
      const double bus = share * static_cast<double>(bytes) / middle;
      fmt::print(
          "{:<10} {} ranks {:>12} bytes {} {:<9} median {:.6f} s (least {:.6f}, most {:.6f}), bus {:.1f} "
          "MB/s",
          options.label, ranks, bytes, name_of(options.dtype), options.algorithms[i], middle, *least, *most,
          bus / 1e6);
      if (rate > 0) fmt::print(", {:.0f} % of the ideal ring", 100 * bus / rate);
      fmt::print("\n");
      if (options.csv.empty()) continue;
      const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(options.csv.c_str(), "a"),
                                                                 std::fclose);
      check(file != nullptr, "open the CSV file");
      fmt::print(file.get(), "{},{},{},{},{},{},{},{},{}\n", options.label, ranks, name_of(options.dtype),
                 bytes, options.algorithms[i], middle, bus, *least, *most);
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = parse(argc, argv);
    const comm::MpiSession session;
    measure(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    std::fflush(nullptr);
    ::_exit(70);
  }
}
