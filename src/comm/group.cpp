#include "comm/group.h"

namespace lockstep::comm {

void broadcast_text(Group& comm, std::string& text, int root) {
  std::int64_t length = static_cast<std::int64_t>(text.size());
  comm.broadcast(std::as_writable_bytes(std::span(&length, 1)), root);
  text.resize(static_cast<std::size_t>(length));
  comm.broadcast(std::as_writable_bytes(std::span(text)), root);
}

std::vector<std::string> gather_texts(Group& comm, std::string_view mine) {
  std::vector<std::string> texts(static_cast<std::size_t>(comm.size()));
  texts[static_cast<std::size_t>(comm.rank())] = mine;
  for (int root = 0; root < comm.size(); ++root) {
    broadcast_text(comm, texts[static_cast<std::size_t>(root)], root);
  }
  return texts;
}

}  // namespace lockstep::comm
