#include "plugin/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace lockstep::spank {

namespace {

constexpr std::string_view known =
    "config=PATH, mode=auto|off|show|warn|strict, kill_on_bad_exit=yes|no, root=DIR";

std::string absolute(std::string_view key, std::string_view value) {
  if (!value.starts_with('/')) {
    throw ArgumentError(fmt::format("plugstack.conf: {}={}: want an absolute path", key, value));
  }
  return std::string(value);
}

bool yes_or_no(std::string_view key, std::string_view value) {
  if (value != "yes" && value != "no") {
    throw ArgumentError(fmt::format("plugstack.conf: {}={}: want yes or no", key, value));
  }
  return value == "yes";
}

}  // namespace

PluginArguments parse_arguments(const std::vector<std::string_view>& arguments) {
  PluginArguments result;
  for (const std::string_view argument : arguments) {
    const auto equals = argument.find('=');
    const std::string_view key = argument.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : argument.substr(equals + 1);
    if (key == "config") {
      result.config = absolute(key, value);
    } else if (key == "mode") {
      result.mode = parse_mode(value);
      if (!result.mode)
        throw ArgumentError(fmt::format("plugstack.conf: {}: want one of {}", argument, known));
    } else if (key == "kill_on_bad_exit") {
      result.kill_on_bad_exit = yes_or_no(key, value);
    } else if (key == "root") {
      result.root = absolute(key, value);
    } else if (faults_built_in && key == "throw") {
      result.fault = parse_fault(value);
    } else {
      throw ArgumentError(
          fmt::format("plugstack.conf: unknown argument '{}'; known are {}", argument, known));
    }
  }
  return result;
}

std::filesystem::path root_for(const PluginArguments& arguments, std::string_view node) {
  if (arguments.root.empty()) return "/";
  const auto at = arguments.root.find("%n");
  if (at == std::string::npos) return arguments.root;
  const auto is_plain = [](char c) { return c != '/' && c > ' ' && c < 0x7f; };
  if (node.empty() || node.starts_with('.') || !std::all_of(node.begin(), node.end(), is_plain)) {
    throw ArgumentError(
        fmt::format("plugstack.conf: root={}: this node has no name to put there", arguments.root));
  }
  std::string root = arguments.root;
  root.replace(at, 2, node);
  return root;
}

}  // namespace lockstep::spank
