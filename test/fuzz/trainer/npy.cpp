// NPY files: read whole, or refused in a message that names the file.
#include "array.h"
#include "data/npy_file.h"

extern "C" const char* const fuzz_dictionary[] = {"\x93NUMPY",
                                                  "{'descr': '",
                                                  "<f4",
                                                  ">i8",
                                                  "|u1",
                                                  "|O",
                                                  "', 'fortran_order': ",
                                                  "False",
                                                  "True",
                                                  ", 'shape': (",
                                                  "3, ",
                                                  "), }",
                                                  "[('a', '<f4')]",
                                                  "L",
                                                  "18446744073709551615",
                                                  nullptr};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return read_array<lockstep::data::NpyFile>(data, size);
}
