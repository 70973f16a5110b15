// IDX files: read whole, or refused in a message that names the file.
#include "array.h"
#include "data/idx_file.h"

extern "C" const char* const fuzz_dictionary[] = {"\x08\x03", "\x08\x01", "\x0d\x02", "\xff\xff\xff\xff",
                                                  nullptr};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return read_array<lockstep::data::IdxFile>(data, size);
}
