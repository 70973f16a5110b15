// make_node FILE.node FOLDER: writes the invented node (see fake_node.h) as a tree of files.
#include <exception>
#include <iostream>

#include "../fake_node.h"
#include "core/files.h"

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: make_node FILE.node FOLDER\n";
    return 64;
  }
  try {
    const auto text = lockstep::read_text(arguments[1]);
    if (!text) throw std::runtime_error("no such file");
    write_fake_node(*text, arguments[2]);
  } catch (const std::exception& error) {
    std::cerr << "make_node: " << arguments[1] << ": " << error.what() << '\n';
    return 65;
  }
  return 0;
}
