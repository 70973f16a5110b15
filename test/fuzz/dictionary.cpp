// For libFuzzer: gives it the words of the target (fuzz_dictionary), which it reads from a file.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

// A target may define it: words of its language, a null pointer after the last.
extern "C" __attribute__((weak)) const char* const fuzz_dictionary[];

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  if (&fuzz_dictionary[0] == nullptr) return 0;
  const std::string path = std::string((*arguments)[0]) + ".dict";
  std::ofstream file(path);
  for (const char* const* word = &fuzz_dictionary[0]; *word != nullptr; ++word) {
    file << '"';
    for (const char* c = *word; *c != '\0'; ++c) {
      char code[5];
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(*c)));
      file << code;
    }
    file << "\"\n";
  }
  // libFuzzer keeps pointers into both until the process ends.
  static std::string option = "-dict=" + path;
  static std::vector<char*> all(*arguments, *arguments + *count);
  all.push_back(option.data());
  all.push_back(nullptr);
  *count += 1;
  *arguments = all.data();
  return 0;
}
