#include "doctor/tcp.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

namespace lockstep::doctor {

namespace {

constexpr double patience_per_address = 1;  // seconds

[[noreturn]] void fail(std::string_view what) {
  throw Error(ExitCode::peer_failed, fmt::format("TCP: cannot {}: {}", what, std::strerror(errno)));
}

// The events that have come; 0 at the deadline.
short wait_for(int fd, short events, double deadline) {
  pollfd entry{fd, events, 0};
  const double left = std::max(0., deadline - monotonic_seconds());
  const int ready = ::poll(&entry, 1, static_cast<int>(std::ceil(left * 1000)));
  return ready > 0 ? entry.revents : short{0};
}

FileDescriptor make_socket() {
  FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) fail("make a socket");
  return fd;
}

// The casts to sockaddr are the socket interface's own idiom.
sockaddr* generic(sockaddr_in& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

}  // namespace

Listener listen_tcp() {
  Listener listener{make_socket(), 0};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  if (::bind(listener.socket.get(), generic(address), size) != 0 || ::listen(listener.socket.get(), 1) != 0 ||
      ::getsockname(listener.socket.get(), generic(address), &size) != 0) {
    fail("listen");
  }
  listener.port = ntohs(address.sin_port);
  return listener;
}

FileDescriptor accept_tcp(const Listener& listener, double deadline) {
  if (wait_for(listener.socket.get(), POLLIN, deadline) == 0) {
    throw Error(
        ExitCode::peer_failed,
        fmt::format("TCP: nobody came to port {}: is there a firewall between the nodes?", listener.port));
  }
  FileDescriptor connection(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection) fail("accept a connection");
  return connection;
}

FileDescriptor connect_tcp(std::span<const std::string> addresses, std::uint16_t port, double deadline) {
  std::string tried;
  for (const std::string& text : addresses) {
    FileDescriptor fd = make_socket();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) continue;
    int problem = ::connect(fd.get(), generic(address), sizeof address) == 0 ? 0 : errno;
    if (problem == EINPROGRESS) {
      socklen_t size = sizeof problem;
      const double until = std::min(deadline, monotonic_seconds() + patience_per_address);
      if (wait_for(fd.get(), POLLOUT, until) == 0) {
        problem = ETIMEDOUT;
      } else {
        ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
      }
    }
    if (problem == 0) return fd;
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : ", ", text, std::strerror(problem));
  }
  throw Error(
      ExitCode::peer_failed,
      fmt::format("TCP: no connection to port {} ({}): is there a firewall between the nodes?", port, tried));
}

double duplex_rate(const FileDescriptor& connection, double seconds) {
  constexpr std::size_t block = std::size_t{1} << 18;
  std::vector<char> out(block), in(block);
  const double begin = monotonic_seconds();
  const double counts_from = begin + seconds / 4;
  const double end = begin + seconds;
  double first = 0, last = 0, bytes = 0;
  bool open = true;
  for (double now = begin; now < end && open; now = monotonic_seconds()) {
    const short events = wait_for(connection.get(), POLLIN | POLLOUT, end);
    if ((events & POLLOUT) != 0) ::send(connection.get(), out.data(), out.size(), MSG_NOSIGNAL);
    if ((events & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    const ssize_t came = ::recv(connection.get(), in.data(), in.size(), 0);
    open = came > 0 || (came < 0 && (errno == EAGAIN || errno == EINTR));
    last = monotonic_seconds();
    if (came <= 0 || last < counts_from) continue;
    if (first == 0) {
      first = last;  // its bytes came before the time that counts
    } else {
      bytes += static_cast<double>(came);
    }
  }
  if (bytes == 0) throw Error(ExitCode::peer_failed, "TCP: connected, but nothing comes through");
  return bytes / (last - first);
}

}  // namespace lockstep::doctor
