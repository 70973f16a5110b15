#include "cli/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/program_options.hpp>
#include <cstdio>
#include <utility>
#include <variant>
#include <vector>

#include "checkpoint/file.h"
#include "core/error.h"
#include "core/text.h"
#include "train/state_hash.h"

namespace lockstep::cli {

namespace {

namespace po = boost::program_options;
using checkpoint::Description;

constexpr const char* usage =
    "usage: lockstep checkpoint info FILE       what is in a checkpoint\n"
    "       lockstep checkpoint verify FILE...  check every byte against its hashes\n"
    "\n"
    "FILE is a step-NNNNNNNN.h5 of a run's checkpoint folder. Neither needs MPI or a job.\n"
    "Exit codes: 0 intact, 65 damaged, 66 no such file, 78 written by a newer version.\n"
    "`info` checks all but the tensors' values; `verify` reads the whole file, and prints the hash of the "
    "state that\n"
    "`lockstep train --log-hash` writes.\n"
    "\n"
    "options:\n"
    "  -h, --help  show this help\n";

std::string value_text(const checkpoint::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  return fmt::format("{}", std::get<std::int64_t>(value));
}

void print_header(const Description& file) {
  fmt::print("file      {}\n", file.path.string());
  fmt::print("size      {} ({} bytes)\n", human_bytes(static_cast<double>(file.seal.file_bytes)),
             file.seal.file_bytes);
  fmt::print("format    {}\n", checkpoint::format_version);
  fmt::print("step      {}\n", file.state.step);
  fmt::print("epoch     {}\n", file.state.epoch);
  fmt::print("samples   {}\n", file.state.samples);
}

void print_writers(const Description& file) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(file.writers()));
  for (const auto& slab : file.slabs) bytes[static_cast<std::size_t>(slab.writer)] += slab.bytes;
  fmt::print("writers   {} ranks, {} slabs", bytes.size(), file.slabs.size());
  if (!bytes.empty()) {
    const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
    fmt::print(", {} to {} each", human_bytes(static_cast<double>(*least)),
               human_bytes(static_cast<double>(*most)));
  }
  fmt::print("\n");
}

// Values of one line as a list; longer ones, such as the configuration, below it.
void print_state(const Description& file) {
  std::size_t width = 0;
  for (const auto& [key, value] : file.state.values) width = std::max(width, key.size());
  fmt::print("\nstate\n");
  for (const auto& [key, value] : file.state.values) {
    const std::string text = value_text(value);
    if (text.find('\n') == std::string::npos) fmt::print("  {:<{}}  {}\n", key, width, text);
  }
  for (const auto& [key, value] : file.state.values) {
    const std::string text = value_text(value);
    if (text.find('\n') == std::string::npos) continue;
    fmt::print("\n{}\n", key);
    for (const std::string& line : split(trim(text), '\n')) fmt::print("  {}\n", line);
  }
}

void print_tensors(const Description& file) {
  std::size_t name_width = 0;
  std::size_t shape_width = 0;
  double total = 0;
  for (const auto& tensor : file.tensors) {
    name_width = std::max(name_width, tensor.name.size());
    shape_width = std::max(shape_width, checkpoint::shape_text(tensor.shape).size());
    total += static_cast<double>(checkpoint::element_count(tensor.shape)) * sizeof(float);
  }
  fmt::print("\n{} tensors, float32, {}\n", file.tensors.size(), human_bytes(total));
  for (const auto& tensor : file.tensors) {
    const auto bytes = static_cast<double>(checkpoint::element_count(tensor.shape)) * sizeof(float);
    fmt::print("  {:<{}}  {:<{}}  {}\n", tensor.name, name_width, checkpoint::shape_text(tensor.shape),
               shape_width, human_bytes(bytes));
  }
}

int info(const std::string& path) {
  const Description file = checkpoint::describe(path);
  print_header(file);
  print_writers(file);
  print_tensors(file);
  print_state(file);
  return 0;
}

// As in hashes.csv, so that files of different jobs and numbers of ranks can be compared.
std::string state_hash(const checkpoint::Verified& file) {
  std::vector<train::StateHash::Part> parts;
  for (const auto& [name, hash] : file.hashes) parts.push_back({name, hash});
  // Learner::state_hash(): the latter two in fp16 alone.
  for (const char* key : {"updates", "loss_scale", "loss_scale_good_steps"}) {
    const auto at = file.state.values.find(key);
    if (at == file.state.values.end()) continue;
    if (const auto* number = std::get_if<std::int64_t>(&at->second)) {
      parts.push_back({key, static_cast<std::uint64_t>(*number)});
    } else if (const auto* real = std::get_if<double>(&at->second)) {
      parts.push_back({key, std::bit_cast<std::uint64_t>(*real)});
    }
  }
  return train::hash_text(train::whole_of(std::move(parts)).whole);
}

int verify(const std::vector<std::string>& paths) {
  bool damaged = false;
  for (const std::string& path : paths) {
    const checkpoint::Verified found = checkpoint::verify(path);
    if (found.faults.empty()) {
      fmt::print("{}: intact, every byte checked; hash of the state {}\n", path, state_hash(found));
    }
    for (const std::string& fault : found.faults) fmt::print(stderr, "{}: {}\n", path, fault);
    damaged = damaged || !found.faults.empty();
  }
  return static_cast<int>(damaged ? ExitCode::bad_data : ExitCode::finished);
}

}  // namespace

int checkpoint_command(std::span<const std::string> args) {
  po::options_description options;
  options.add_options()("help,h", "")("action", po::value<std::string>())(
      "file", po::value<std::vector<std::string>>());
  po::positional_options_description positions;
  positions.add("action", 1).add("file", -1);

  po::variables_map given;
  try {
    const std::vector<std::string> words(args.begin(), args.end());
    po::store(po::command_line_parser(words).options(options).positional(positions).run(), given);
  } catch (const po::error& error) {
    throw Error(ExitCode::usage, fmt::format("lockstep checkpoint: {}; see --help", error.what()));
  }
  if (given.count("help") != 0) {
    fmt::print("{}", usage);
    return 0;
  }
  const std::string action = given.count("action") != 0 ? given["action"].as<std::string>() : "";
  const auto files =
      given.count("file") != 0 ? given["file"].as<std::vector<std::string>>() : std::vector<std::string>();
  if (action == "info" && files.size() == 1) return info(files[0]);
  if (action == "verify" && !files.empty()) return verify(files);
  throw Error(ExitCode::usage, fmt::format("lockstep checkpoint: what to do with which file?\n{}", usage));
}

}  // namespace lockstep::cli
