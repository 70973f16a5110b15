// What NCCL would read otherwise than whoever wrote the file meant it.
#include <fmt/format.h>

#include <map>

#include "command/checked_file.h"
#include "core/text.h"
#include "site/nccl_conf.h"
#include "site/variables.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t longest_line = 4095;  // NCCL's own limits, in bytes
constexpr std::size_t longest_value = 1023;

bool has_blanks_around(std::string_view text) {
  return trim(text) != text;
}

// Lines without a variable: all but comments and empty ones are lost.
void look_for_lost_lines(std::string_view text, const std::string& file, Report& report) {
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (line.size() > longest_line) {
      report.faults.push_back(
          fmt::format("{}:{}: longer than {} bytes: NCCL takes the rest for a line of its own", file, number,
                      longest_line));
    }
    if (line.starts_with('#') || trim(line).empty()) continue;
    if (trim(line).starts_with('#')) {
      report.faults.push_back(fmt::format(
          "{}:{}: a comment begins in the first column: NCCL takes this line for a setting", file, number));
    } else if (line.find('=') == std::string::npos) {
      report.faults.push_back(fmt::format("{}:{}: no '=': NCCL passes over this line", file, number));
    }
  }
}

std::string fault_of(const NcclConf::Entry& entry) {
  if (has_blanks_around(entry.variable)) {
    return fmt::format("a blank beside the name: NCCL sets '{}', which nobody reads; write {}={}",
                       entry.variable, trim(entry.variable), trim(entry.value));
  }
  if (has_blanks_around(entry.value)) {
    return fmt::format("a blank beside the value belongs to it: write {}={}", entry.variable,
                       trim(entry.value));
  }
  if (entry.value.size() >= longest_value) {
    return fmt::format("NCCL cuts the value of {} after {} bytes", entry.variable, longest_value);
  }
  return fault_of_value(entry.variable, entry.value).value_or("");
}

}  // namespace

Report check_nccl_conf(std::string_view text, const std::string& file) {
  const NcclConf conf = parse_nccl_conf(text, file);
  Report report{.kind = fmt::format("nccl.conf, {}", count_of(conf.entries.size(), "setting"))};
  look_for_lost_lines(text, file, report);
  if (conf.carriage_return_line > 0) {
    report.remarks.push_back(fmt::format("{}:{}: lines end in CR LF: older NCCL takes the CR into the value",
                                         file, conf.carriage_return_line));
  }
  std::map<std::string, int> first_lines;
  for (const NcclConf::Entry& entry : conf.entries) {
    if (trim(entry.variable).starts_with('#')) continue;  // told above
    if (const std::string fault = fault_of(entry); !fault.empty()) {
      report.faults.push_back(fmt::format("{}:{}: {}", file, entry.line, fault));
    }
    const auto [at, is_first] = first_lines.emplace(entry.variable, entry.line);
    if (!is_first) {
      report.faults.push_back(fmt::format("{}:{}: {} is set in line {} already, which counts", file,
                                          entry.line, entry.variable, at->second));
    }
  }
  return report;
}

}  // namespace lockstep::spank
