#include "comm/nccl/ras.h"

#include <fcntl.h>
#include <nccl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "core/clock.h"
#include "core/files.h"

namespace lockstep::comm::nccl {

namespace {

constexpr int first_with_ras = 22400;
constexpr std::size_t longest_line = 256;  // of the greetings

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

struct Place {
  std::string host;
  std::string port;
};

// "host:port", "[address]:port".
Place place_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {address, ""};
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

class Conversation {
 public:
  explicit Conversation(double end) : end_(end) {}

  bool connect(const Place& place) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    // To resolve a name may take longer than all of this may.
    if (place.host != "localhost") hints.ai_flags = AI_NUMERICHOST;
    addrinfo* found = nullptr;
    if (::getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found) != 0) return false;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
      socket_ = FileDescriptor(
          ::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol));
      if (socket_ && reaches(*at)) return true;
    }
    return false;
  }

  bool say(std::string_view text) {
    while (!text.empty()) {
      if (!ready(POLLOUT)) return false;
      const ssize_t sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
      text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
    return true;
  }

  // The next line, without its end; empty where none comes.
  std::string line() {
    for (;;) {
      if (const std::size_t end = heard_.find('\n'); end != std::string::npos) {
        std::string text = heard_.substr(0, end);
        heard_.erase(0, end + 1);
        return text;
      }
      if (heard_.size() > longest_line || hear() != Heard::more) return {};
    }
  }

  // Up to the end, which the other side makes; else a line that tells why there is no more.
  std::string rest() {
    for (;;) {
      if (heard_.size() > ras_bytes) {
        heard_.resize(ras_bytes);
        return std::move(heard_) + "\n(cut here: it is longer)\n";
      }
      const Heard more = hear();
      if (more == Heard::end) return std::move(heard_);
      if (more == Heard::nothing) {
        return heard_.empty() ? std::string() : std::move(heard_) + "\n(cut here: no more came in time)\n";
      }
    }
  }

 private:
  enum class Heard { more, end, nothing };

  bool reaches(const addrinfo& at) {
    if (::connect(socket_.get(), at.ai_addr, at.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS || !ready(POLLOUT)) return false;
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }

  bool ready(short what) {
    for (;;) {
      const double left = end_ - monotonic_seconds();
      if (left <= 0) return false;
      pollfd wanted{socket_.get(), what, 0};
      const int count = ::poll(&wanted, 1, static_cast<int>(1e3 * left) + 1);
      if (count > 0) return true;
      if (count < 0 && errno != EINTR) return false;
    }
  }

  Heard hear() {
    std::array<char, 4096> part;
    for (;;) {
      if (!ready(POLLIN)) return Heard::nothing;
      const ssize_t came = ::recv(socket_.get(), part.data(), part.size(), 0);
      if (came == 0) return Heard::end;
      if (came > 0) {
        heard_.append(part.data(), static_cast<std::size_t>(came));
        return Heard::more;
      }
      if (errno != EAGAIN && errno != EINTR) return Heard::nothing;
    }
  }

  double end_;
  FileDescriptor socket_;
  std::string heard_;
};

}  // namespace

std::string ras_address() {
  int version = 0;
  ncclGetVersion(&version);
  if (version < first_with_ras || variable("NCCL_RAS_ENABLE", "1") == "0") return {};
  return variable("NCCL_RAS_ADDR", "localhost:28028");
}

std::string ask_ras(const std::string& address, double limit) {
  Conversation ras(monotonic_seconds() + limit);
  if (!ras.connect(place_of(address))) return {};
  // Another version of the protocol answers as well. RAS itself waits 1 s for processes that do not answer
  // it.
  if (!ras.say("CLIENT PROTOCOL 2\n") || !ras.line().starts_with("SERVER PROTOCOL ")) return {};
  if (!ras.say("TIMEOUT 1\n") || ras.line() != "OK" || !ras.say("VERBOSE STATUS\n")) return {};
  std::string text = ras.rest();
  const auto is_odd = [](char c) { return (c < ' ' || c > '~') && c != '\n' && c != '\t'; };
  std::replace_if(text.begin(), text.end(), is_odd, '?');
  return text;
}

}  // namespace lockstep::comm::nccl
