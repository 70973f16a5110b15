#include "plan/launcher.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.h"

namespace lockstep::spank {

namespace {

using Words = std::span<const std::string>;

constexpr std::size_t max_depth = 16;    // of programs that start programs
constexpr std::size_t max_words = 4096;  // of a command that are looked at
constexpr std::size_t max_text = 65536;  // of a shell's command line

constexpr std::array<std::string_view, 2> torchruns = {"torchrun", "torchrun.py"};
constexpr std::array<std::string_view, 4> torchrun_modules = {
    "torch.distributed.run", "torch.distributed.launch", "torch.distributed.run.py",
    "torch.distributed.launch.py"};
constexpr std::array<std::string_view, 18> launchers = {"accelerate", "accelerate-launch",
                                                        "deepspeed",  "horovodrun",
                                                        "colossalai", "ray",
                                                        "composer",   "fabric",
                                                        "lightning",  "mpirun",
                                                        "mpiexec",    "mpiexec.hydra",
                                                        "orterun",    "prterun",
                                                        "prun",       "srun",
                                                        "aprun",      "flux"};
constexpr std::array<std::string_view, 8> launcher_modules = {"accelerate.commands.launch",
                                                              "accelerate.commands.accelerate_cli",
                                                              "deepspeed.launcher.runner",
                                                              "deepspeed.launcher.launch",
                                                              "horovod.runner",
                                                              "horovod.runner.launch",
                                                              "composer.cli.launcher",
                                                              "colossalai.cli"};
constexpr std::array<std::string_view, 5> mpi_daemons = {"orted", "prted", "hydra_pmi_proxy", "pmi_proxy",
                                                         "mpispawn"};
constexpr std::array<std::string_view, 8> keywords = {"if",    "then",  "else", "elif",
                                                      "while", "until", "do",   "!"};
constexpr std::array<std::string_view, 6> shells = {"sh", "bash", "dash", "zsh", "ksh", "fish"};
// Their options are many; the program is the first word after them that is known.
constexpr std::array<std::string_view, 16> wrappers = {
    "apptainer", "singularity", "podman", "docker", "shifter", "enroot",     "nsys", "ncu",
    "uv",        "conda",       "mamba",  "poetry", "pixi",    "micromamba", "perf", "gdb"};

// A program that starts another after its options, and after `operands` words of its own.
struct Prefix {
  std::string_view name;
  std::string_view valued;                      // short options whose value is the next word
  std::array<std::string_view, 6> long_valued;  // long ones, where not written with '='
  int operands;
};
constexpr std::array<Prefix, 14> prefixes = {{
    {"env", "uCS", {"--unset", "--chdir", "--split-string"}, 0},
    {"numactl",
     "imNpPCw",
     {"--interleave", "--membind", "--cpunodebind", "--physcpubind", "--preferred", "--length"},
     0},
    {"nice", "n", {"--adjustment"}, 0},
    {"ionice", "cn", {"--class", "--classdata"}, 0},
    {"chrt", "TPD", {}, 1},
    {"time", "fo", {"--format", "--output"}, 0},
    {"timeout", "ks", {"--kill-after", "--signal"}, 1},
    {"taskset", "", {}, 1},
    {"stdbuf", "ioe", {"--input", "--output", "--error"}, 0},
    {"nohup", "", {}, 0},
    {"setsid", "", {}, 0},
    {"setarch", "", {}, 0},
    {"exec", "a", {}, 0},
    {"command", "", {}, 0},
}};

template <typename Names>
bool is_one_of(std::string_view word, const Names& names) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool is_python(std::string_view name) {
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

bool is_shell(std::string_view name) {
  return is_one_of(name, shells) || name.ends_with(".sh") || name.ends_with(".bash");
}

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         word.substr(0, equals).find('/') == std::string_view::npos;
}

// Of a program or script by its name alone.
Launcher launcher_by_name(std::string_view name) {
  if (is_one_of(name, torchruns)) return Launcher::torchrun;
  return is_one_of(name, launchers) ? Launcher::other : Launcher::none;
}

Launcher launcher_by_module(std::string_view module) {
  if (is_one_of(module, torchrun_modules)) return Launcher::torchrun;
  return is_one_of(module, launcher_modules) ? Launcher::other : Launcher::none;
}

// What follows `python`.
Launcher launcher_of_python(Words words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word.empty() || word.front() != '-' || word == "-") return launcher_by_name(base_name(word));
    if (word.starts_with("--")) {
      if (word == "--check-hash-based-pycs") ++i;
      continue;
    }
    const auto valued = word.find_first_of("mcXW", 1);
    if (valued == std::string_view::npos) continue;
    const bool attached = valued + 1 < word.size();
    if (word[valued] == 'c') return Launcher::none;
    if (word[valued] == 'm') {
      if (attached) return launcher_by_module(word.substr(valued + 1));
      return i + 1 < words.size() ? launcher_by_module(words[i + 1]) : Launcher::none;
    }
    if (!attached) ++i;
  }
  return Launcher::none;
}

Launcher launcher_at(Words words, std::size_t depth);

// The text of `sh -c`: its simple commands, one after another. Quotes are dropped: a launcher has none in its
// name.
Launcher launcher_in_text(std::string_view text, std::size_t depth) {
  text = text.substr(0, max_text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(";&|(){}\n`"), text.size());
    std::vector<std::string> words;
    for (const std::string& part : split(text.substr(0, end), ' ')) {
      std::string word;
      std::copy_if(part.begin(), part.end(), std::back_inserter(word),
                   [](char c) { return c != '\'' && c != '"' && c != '\t'; });
      if (word.empty() || (words.empty() && (is_assignment(word) || is_one_of(word, keywords)))) continue;
      words.push_back(std::move(word));
    }
    const Launcher launcher = launcher_at(words, depth + 1);
    if (launcher == Launcher::torchrun || launcher == Launcher::other) return launcher;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return Launcher::shell;
}

Launcher launcher_of_shell(Words words, std::size_t depth) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!word.starts_with('-')) break;
    if (!word.starts_with("--") && word.find('c') != std::string_view::npos) {
      return launcher_in_text(words[i + 1], depth);
    }
  }
  return Launcher::shell;
}

// What follows the prefix's name, without its options and operands.
Words after_prefix(const Prefix& prefix, Words words) {
  std::size_t i = 0;
  int operands = prefix.operands;
  for (; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") continue;
    if (word.size() > 1 && word.front() == '-') {
      const bool is_long = word.starts_with("--");
      const bool takes_next = is_long
                                  ? is_one_of(word, prefix.long_valued)
                                  : word.size() == 2 && prefix.valued.find(word[1]) != std::string_view::npos;
      if (takes_next) ++i;
    } else if (prefix.name == "env" && is_assignment(word)) {
      continue;
    } else if (operands > 0) {
      --operands;
    } else {
      break;
    }
  }
  return words.subspan(std::min(i, words.size()));
}

// From the first word on that is a program whose meaning is known.
Words after_wrapper(Words words) {
  const auto known = std::find_if(words.begin(), words.end(), [](std::string_view word) {
    const std::string_view name = base_name(word);
    return launcher_by_name(name) != Launcher::none || is_python(name) || is_one_of(name, shells);
  });
  return words.subspan(static_cast<std::size_t>(known - words.begin()));
}

// `depth` counts programs that start programs, whether in one command or in a shell's text.
Launcher launcher_at(Words words, std::size_t depth) {
  for (; depth < max_depth && !words.empty(); ++depth) {
    const std::string_view name = base_name(words.front());
    const Words rest = words.subspan(1);
    if (const Launcher launcher = launcher_by_name(name); launcher != Launcher::none) return launcher;
    if (is_python(name)) return launcher_of_python(rest);
    if (is_shell(name)) return launcher_of_shell(rest, depth);
    const auto prefix =
        std::find_if(prefixes.begin(), prefixes.end(), [&](const Prefix& p) { return p.name == name; });
    if (prefix != prefixes.end()) {
      words = after_prefix(*prefix, rest);
    } else if (is_one_of(name, wrappers)) {
      words = after_wrapper(rest);
    } else {
      return Launcher::none;
    }
  }
  return Launcher::none;
}

}  // namespace

Launcher launcher_of(std::span<const std::string> command) {
  return launcher_at(command.first(std::min(command.size(), max_words)), 0);
}

bool is_mpi_daemon(std::span<const std::string> command) {
  return !command.empty() && is_one_of(base_name(command.front()), mpi_daemons);
}

}  // namespace lockstep::spank
