// What NCCL's RAS is asked, against servers on the loopback that answer, do not, or answer something else.
#include "comm/nccl/ras.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/files.h"

using lockstep::FileDescriptor;
using lockstep::comm::nccl::ask_ras;
using lockstep::comm::nccl::ras_address;
using lockstep::comm::nccl::ras_bytes;

namespace {

constexpr double long_enough = 60;

// Serves one client in a thread of its own.
class Server {
 public:
  class Client {
   public:
    explicit Client(int socket) : socket_(socket) {}

    void say(std::string text) const {
      while (!text.empty()) {
        const ssize_t sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        text.erase(0, static_cast<std::size_t>(sent));
      }
    }
    // Without its end; empty once the other side has closed.
    std::string line() {
      std::string text;
      for (char c = 0; ::recv(socket_.get(), &c, 1, 0) == 1 && c != '\n';) text += c;
      return text;
    }

   private:
    FileDescriptor socket_;
  };

  explicit Server(std::function<void(Client&)> serve) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (::bind(listener_.get(), address, size) != 0 || ::listen(listener_.get(), 1) != 0 ||
        ::getsockname(listener_.get(), address, &size) != 0)
      throw std::runtime_error("no socket on the loopback");
    port_ = ntohs(at.sin_port);
    thread_ = std::jthread([this, serve = std::move(serve)] {
      Client client(::accept(listener_.get(), nullptr, nullptr));
      serve(client);
    });
  }

  std::string address() const { return "localhost:" + std::to_string(port_); }

 private:
  FileDescriptor listener_;
  int port_ = 0;
  std::jthread thread_;
};

// Up to the question; false where the other side has said something else.
bool greet(Server::Client& client) {
  if (client.line() != "CLIENT PROTOCOL 2") return false;
  client.say("SERVER PROTOCOL 3\n");
  if (client.line() != "TIMEOUT 1") return false;
  client.say("OK\n");
  return client.line() == "VERBOSE STATUS";
}

}  // namespace

TEST_CASE("RAS: an answer, in parts and with odd characters", "[ras]") {
  const Server server([](Server::Client& client) {
    if (!greet(client)) return;
    client.say("NCCL version 2.28.9\n");
    client.say(std::string("\trank 1 \x1b[31mis \0 missing\n", 26));
  });
  CHECK(ask_ras(server.address(), long_enough) == "NCCL version 2.28.9\n\trank 1 ?[31mis ? missing\n");
}

TEST_CASE("RAS: nobody is there", "[ras]") {
  CHECK(ask_ras("localhost:1", long_enough).empty());
  CHECK(ask_ras("a-name-that-is-not-resolved:1", long_enough).empty());
  CHECK(ask_ras("localhost", long_enough).empty());
  CHECK(ask_ras("[::1]:1", long_enough).empty());
  CHECK(ask_ras("", long_enough).empty());
}

TEST_CASE("RAS: a silent server costs the limit and no more", "[ras]") {
  const Server server([](Server::Client& client) {
    while (!client.line().empty()) {
    }
  });
  const double begin = lockstep::monotonic_seconds();
  CHECK(ask_ras(server.address(), 0.3).empty());
  CHECK(lockstep::monotonic_seconds() - begin >= 0.3);
}

TEST_CASE("RAS: a server that stops half-way", "[ras]") {
  const bool closes = GENERATE(true, false);
  const Server server([closes](Server::Client& client) {
    if (!greet(client)) return;
    client.say("rank 0 waits\nrank 1");
    if (!closes) client.line();
  });
  CHECK(ask_ras(server.address(), closes ? long_enough : 1) ==
        (closes ? "rank 0 waits\nrank 1" : "rank 0 waits\nrank 1\n(cut here: no more came in time)\n"));
}

TEST_CASE("RAS: another service answers", "[ras]") {
  const std::string greeting =
      GENERATE(as<std::string>(), "HTTP/1.1 400 Bad Request\r\n\r\n", "\n", "", std::string(100000, 'x'));
  const Server server([&greeting](Server::Client& client) {
    client.line();
    client.say(greeting);
  });
  CHECK(ask_ras(server.address(), long_enough).empty());
}

TEST_CASE("RAS: a server that does not take the limit", "[ras]") {
  const Server server([](Server::Client& client) {
    client.line();
    client.say("SERVER PROTOCOL 2\nERROR: unknown command\n");
  });
  CHECK(ask_ras(server.address(), long_enough).empty());
}

TEST_CASE("RAS: an answer without an end is cut", "[ras]") {
  const Server server([](Server::Client& client) {
    if (greet(client)) client.say(std::string(4 * ras_bytes, 'x'));
  });
  const std::string text = ask_ras(server.address(), long_enough);
  CHECK(text.size() == ras_bytes + std::string("\n(cut here: it is longer)\n").size());
  CHECK(text.ends_with("x\n(cut here: it is longer)\n"));
}

TEST_CASE("RAS: where it is", "[ras]") {
  ::unsetenv("NCCL_RAS_ADDR");
  ::unsetenv("NCCL_RAS_ENABLE");
  CHECK(ras_address() == "localhost:28028");
  ::setenv("NCCL_RAS_ADDR", "n1:4000", 1);
  CHECK(ras_address() == "n1:4000");
  ::setenv("NCCL_RAS_ENABLE", "0", 1);
  CHECK(ras_address().empty());
  ::unsetenv("NCCL_RAS_ADDR");
  ::unsetenv("NCCL_RAS_ENABLE");
}
