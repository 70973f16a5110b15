// flip_bit PID FILE: flips one bit, in the memory of another process, of whatever begins with the first bytes
// of FILE, wherever that lies; what a fault of the memory would do to a tensor. Prints how many places there
// were; fails where there was none, and with 77 where the system does not let this user write there. The
// process must stand still.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr std::size_t length = 64;  // of what is looked for: nothing else is like it
constexpr std::size_t struck = 2;   // byte of the first number, an f32 in little-endian order
constexpr char bit = 0x40;          // its highest bit of the fraction

constexpr int not_allowed = 77;

int flip(const std::string& process, const std::vector<char>& wanted) {
  std::ifstream maps(process + "/maps");
  errno = 0;
  std::fstream memory(process + "/mem", std::ios::in | std::ios::out | std::ios::binary);
  if (!memory && (errno == EACCES || errno == EPERM)) std::exit(not_allowed);
  const std::boyer_moore_searcher search(wanted.begin(), wanted.end());
  int places = 0;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &last, rights) != 3) continue;
    if (std::string(rights).substr(0, 2) != "rw") continue;
    std::vector<char> bytes(last - first);
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(first));
    if (!memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) continue;
    for (auto at = bytes.begin();; at += length) {
      at = std::search(at, bytes.end(), search);
      if (at == bytes.end()) break;
      memory.seekp(static_cast<std::streamoff>(first) + (at - bytes.begin()) + std::streamoff{struck});
      memory.put(static_cast<char>(at[struck] ^ bit)).flush();
      if (memory) ++places;
    }
  }
  return places;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return EXIT_FAILURE;
  std::ifstream file(argv[2], std::ios::binary);
  std::vector<char> wanted(std::istreambuf_iterator<char>(file), {});
  if (wanted.size() < length) return EXIT_FAILURE;
  wanted.resize(length);
  const int places = flip(std::string("/proc/") + argv[1], wanted);
  std::printf("%d places\n", places);
  return places > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
