#include "train/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "core/clock.h"
#include "core/files.h"
#include "core/text.h"
#include "train/step_log.h"

namespace lockstep::train {

std::string event_row(std::int64_t step, std::string_view name, std::string_view detail) {
  return fmt::format("{},{:.3f},{},{}", step, wall_seconds(), name, csv_field(detail));
}

void append_event(const std::filesystem::path& file, std::int64_t step, std::string_view name,
                  std::string_view detail) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(file.parent_path(), ignored)) return;
  const FileDescriptor out = open_file(file, O_WRONLY | O_APPEND | O_CREAT, 0644, ExitCode::cannot_create);
  struct stat status {};
  const bool fresh = ::fstat(out.get(), &status) == 0 && status.st_size == 0;
  write_all(out.get(),
            fmt::format("{}{}\n", fresh ? fmt::format("{}\n", event_header) : std::string(),
                        event_row(step, name, detail)),
            file);
}

std::string waiting_text(std::string_view events, double now) {
  bool started = false;
  std::string ending;
  double time = 0;
  for (const std::string& line : split(events, '\n')) {
    const auto fields = split(line, ',');
    constexpr std::size_t columns = 4;
    if (fields.size() != columns) continue;
    const std::string& name = fields[2];
    if (name == "started" || name == "resumed") {
      started = true;
      ending.clear();
    }
    if (name != "stopped" && name != "failed" && name != "finished") continue;
    ending = name;
    time = parse_double(fields[1]).value_or(now);
  }
  if (!ending.empty()) return fmt::format("; {:.1f} s after it {}", now - time, ending);
  return started ? "; the attempt before left no word" : "";
}

}  // namespace lockstep::train
