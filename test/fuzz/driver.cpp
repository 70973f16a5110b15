// Runs a fuzz target without libFuzzer: on the corpus as it is, then on mutations of it. The same seed gives
// the same inputs. A child does it; the input that ends it (abort, crash, 10 s) is kept in a file. Usage:
// TARGET [--runs=N] [--seed=S] [FILE]...
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "core/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// A target may define it: words of its language, a null pointer after the last.
extern "C" __attribute__((weak)) const char* const fuzz_dictionary[];

namespace {

constexpr std::size_t max_input = 64 << 10;
constexpr unsigned max_seconds = 10;  // for one input

struct Options {
  std::int64_t runs = 10'000;
  std::int64_t seed = 1;
  std::vector<std::string> files;
};

class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, std::uint64_t seed) : corpus_(std::move(corpus)), random_(seed) {
    if (corpus_.empty()) corpus_.emplace_back();
    for (auto word = &fuzz_dictionary[0]; word != nullptr && *word != nullptr; ++word)
      words_.emplace_back(*word);
  }

  std::string next() {
    std::string input = any(corpus_);
    for (std::size_t left = 1 + below(8); left > 0; --left) mutate(input);
    if (input.size() > max_input) input.resize(max_input);
    return input;
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  const std::string& any(const std::vector<std::string>& texts) { return texts[below(texts.size())]; }

  void mutate(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = std::min(input.size() - at, 1 + below(16));
    switch (below(7)) {
      case 0:
        if (at < input.size())
          input[at] = static_cast<char>(static_cast<unsigned char>(input[at]) ^ (1U << below(8)));
        break;
      case 1:
        input.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:
        splice(input, at);
        break;
      case 4:
        repeat(input, at, length);
        break;
      case 5:
        if (!words_.empty()) input.insert(at, any(words_));
        break;
      default:
        if (length > 0) input.insert(below(input.size() + 1), input.substr(at, length));
    }
  }

  // The rest of another input in place of this one's.
  void splice(std::string& input, std::size_t at) {
    const std::string& other = any(corpus_);
    input.replace(at, std::string::npos, other, below(other.size() + 1), std::string::npos);
  }

  void repeat(std::string& input, std::size_t at, std::size_t length) {
    const std::string piece = input.substr(at, length);
    std::string pieces;
    for (std::size_t times = below(64); times > 0; --times) pieces += piece;
    input.insert(at, pieces);
  }

  std::vector<std::string> corpus_;
  std::vector<std::string> words_;
  std::mt19937_64 random_;
};

bool read_options(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    std::int64_t* number = argument.starts_with("--runs=")   ? &options.runs
                           : argument.starts_with("--seed=") ? &options.seed
                                                             : nullptr;
    if (number != nullptr) {
      const auto value = lockstep::parse_int(argument.substr(7));
      if (!value || *value < 0) return false;
      *number = *value;
    } else if (argument.starts_with("-")) {
      return false;
    } else {
      options.files.emplace_back(argument);
    }
  }
  return true;
}

// The input that is being tried, where the parent still sees it when the child is gone.
class SharedInput {
 public:
  SharedInput()
      : page_(::mmap(nullptr, sizeof(Content), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (page_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedInput() { ::munmap(page_, sizeof(Content)); }
  SharedInput(const SharedInput&) = delete;
  SharedInput& operator=(const SharedInput&) = delete;

  void put(std::string_view input) {
    content().size = input.size();
    std::memcpy(content().bytes, input.data(), input.size());
  }
  std::string_view get() { return {content().bytes, content().size}; }

 private:
  struct Content {
    std::size_t size;
    char bytes[max_input];
  };
  Content& content() { return *static_cast<Content*>(page_); }
  void* page_;
};

void try_input(const std::string& input, SharedInput& shared) {
  shared.put(input);
  ::alarm(max_seconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::vector<std::string> read_corpus(const std::vector<std::string>& names) {
  std::vector<std::string> corpus;
  for (const std::string& name : names) {
    auto text = lockstep::read_text(name);
    if (!text) throw std::runtime_error("no file " + name);
    text->resize(std::min(text->size(), max_input));
    corpus.push_back(std::move(*text));
  }
  return corpus;
}

void try_all(const std::vector<std::string>& corpus, const Options& options, SharedInput& shared) {
  for (const std::string& input : corpus) try_input(input, shared);
  Mutator mutator(corpus, static_cast<std::uint64_t>(options.seed));
  for (std::int64_t i = 0; i < options.runs; ++i) try_input(mutator.next(), shared);
}

int run(const Options& options, const std::string& target) {
  const std::vector<std::string> corpus = read_corpus(options.files);
  SharedInput shared;
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    try_all(corpus, options, shared);
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) {
    fmt::print("{} files and {} mutations of them, seed {}\n1 passed, 0 failed\n", corpus.size(),
               options.runs, options.seed);
    return 0;
  }
  const std::string kept = target + ".failed-input";
  lockstep::write_atomically(kept, shared.get());
  const std::string how = WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "exit code or exception";
  fmt::print("the target ended ({}) on the input in {}\n0 passed, 1 failed\n", how, kept);
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    Options options;
    if (read_options(count, arguments, options)) return run(options, arguments[0]);
    fmt::print(stderr, "usage: {} [--runs=N] [--seed=S] [FILE]...\n", arguments[0]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return 2;
}
