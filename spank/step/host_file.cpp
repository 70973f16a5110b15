#include "step/host_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "core/files.h"
#include "core/text.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t max_bytes = std::size_t{64} << 10;
constexpr std::int64_t max_tasks = 1 << 24;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
  });
}

std::optional<HostFile::Entry> parse_entry(std::string_view text) {
  HostFile::Entry entry;
  if (const auto star = text.find('*'); star != std::string_view::npos) {
    const auto tasks = parse_int(text.substr(star + 1));
    if (!tasks || *tasks < 1 || *tasks > max_tasks) return std::nullopt;
    entry.tasks = static_cast<int>(*tasks);
    text = text.substr(0, star);
  }
  if (!is_name(text)) return std::nullopt;
  entry.host = text;
  return entry;
}

}  // namespace

std::optional<HostFile> parse_host_file(std::string_view text, bool complete) {
  // Of a text that was cut off, the last line may be half a line.
  if (!complete) text = text.substr(0, text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n'));
  HostFile file;
  file.complete = complete;
  for (const std::string& line : split(text, '\n')) {
    const std::string_view code = std::string_view(line).substr(0, line.find('#'));
    for (const std::string& part : split(trim(code), ',')) {
      const auto entry = parse_entry(part);
      if (!entry) return std::nullopt;
      file.entries.push_back(*entry);
    }
  }
  return file;
}

std::optional<HostFile> read_host_file(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string text(max_bytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return parse_host_file(std::string_view(text).substr(0, size), size < max_bytes);
}

}  // namespace lockstep::spank
