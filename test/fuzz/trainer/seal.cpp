// The seal of a checkpoint: refused, or exactly what would be written for it. Half of the inputs get the
// right hash, or none would come beyond it.
#include <fmt/format.h>

#include <string>

#include "checkpoint/seal.h"
#include "core/error.h"
#include "core/hash.h"
#include "require.h"

using namespace lockstep;

extern "C" const char* const fuzz_dictionary[] = {"lockstep checkpoint format 1",
                                                  "\nstep ",
                                                  "\nlength ",
                                                  "\ntable ",
                                                  "\ntable-offset ",
                                                  "\nstructure ",
                                                  "\nseal ",
                                                  nullptr};

namespace {

void parse(const std::string& bytes) {
  try {
    require(checkpoint::render(checkpoint::parse_seal(bytes)) == bytes);
  } catch (const Error& error) {
    require(error.code() == ExitCode::bad_data || error.code() == ExitCode::bad_config);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(text_of(data, size));
  parse(bytes);
  constexpr std::size_t tail = 22;
  bytes.resize(checkpoint::seal_bytes - tail, ' ');
  parse(bytes + fmt::format("seal {:016x}\n", hash64(std::string_view(bytes))));
  return 0;
}
