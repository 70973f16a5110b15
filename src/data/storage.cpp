#include "data/storage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "hdf5/handle.h"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void bad(const std::string& text) {
  throw Error(ExitCode::bad_data, text);
}

std::string filter_name(H5Z_filter_t filter, const char* given) {
  switch (filter) {
    case H5Z_FILTER_DEFLATE:
      return "deflate";
    case H5Z_FILTER_SHUFFLE:
      return "shuffle";
    case H5Z_FILTER_FLETCHER32:
      return "fletcher32";
    default:
      return *given != '\0' ? fmt::format("{} ({})", given, filter) : fmt::format("number {}", filter);
  }
}

std::string readable_filters(hid_t creation, const fs::path& file, const std::string& where) {
  std::vector<std::string> names;
  const int count = H5Pget_nfilters(creation);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::size_t values = 0;
    char given[64] = {};
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr,
                                               sizeof given, given, &config);
    names.push_back(filter_name(filter, given));
    const bool there = H5Zfilter_avail(filter) > 0 && H5Zget_filter_info(filter, &config) >= 0;
    if (!there || (config & H5Z_FILTER_CONFIG_DECODE_ENABLED) == 0) {
      bad(
          fmt::format("{} is compressed with filter {}, which is not available here; rewrite it with "
                      "`h5repack -f NONE {} OUT.h5`, or store it with gzip or uncompressed",
                      where, names.back(), file.string()));
    }
  }
  return fmt::format("{}", fmt::join(names, "+"));
}

// A chunk that was never written reads as the fill value.
void check_all_chunks(hid_t dataset, const std::vector<hsize_t>& chunk, const Column& column,
                      const std::string& where) {
  const auto pieces = [](std::int64_t extent, hsize_t size) {
    return (static_cast<hsize_t>(extent) + size - 1) / size;
  };
  hsize_t wanted = pieces(column.rows, chunk[0]);
  for (std::size_t i = 0; i < column.shape.size(); ++i) wanted *= pieces(column.shape[i], chunk[i + 1]);
  const std::string what = "count the chunks of " + where;
  const auto space = hdf5::own<hdf5::Dataspace>(H5Dget_space(dataset), ExitCode::bad_data, what);
  hsize_t there = 0;
  hdf5::check(H5Dget_num_chunks(dataset, space.get(), &there), ExitCode::bad_data, what);
  if (there < wanted) {
    bad(fmt::format(
        "{} has only {} of its {} chunks, and HDF5 would read the others as zeros: its writer did "
        "not finish; write the missing rows, or make the dataset shorter",
        where, there, wanted));
  }
}

std::string source_name(hid_t creation, std::size_t index) {
  const ssize_t length = H5Pget_virtual_filename(creation, index, nullptr, 0);
  std::string name(static_cast<std::size_t>(std::max<ssize_t>(0, length)), '\0');
  H5Pget_virtual_filename(creation, index, name.data(), name.size() + 1);
  return name;
}

[[noreturn]] void refuse_virtual(hid_t creation, const fs::path& file, const std::string& where) {
  std::string missing;
  std::size_t sources = 0;
  H5Pget_virtual_count(creation, &sources);
  for (std::size_t i = 0; i < sources && missing.empty(); ++i) {
    const std::string name = source_name(creation, i);
    std::error_code ignored;
    if (name != "." && !fs::exists(file.parent_path() / name, ignored) && !fs::exists(name, ignored)) {
      missing = fmt::format(", and {} is missing", name);
    }
  }
  bad(
      fmt::format("{} is a virtual dataset, which HDF5 reads as zeros where a source is missing{}; list the "
                  "{} source files themselves as shards, or copy it with `h5repack -l CONTI {} OUT.h5` once "
                  "all of them are there",
                  where, missing, sources, file.string()));
}

// Where HDF5 looks for an external file: from the current folder on, unless its own variable says otherwise.
fs::path external_path(const fs::path& file, const std::string& name) {
  const char* given = std::getenv("HDF5_EXTFILE_PREFIX");
  std::string prefix = given == nullptr ? "" : given;
  constexpr std::string_view origin = "${ORIGIN}";
  if (prefix.starts_with(origin)) {
    prefix = fs::absolute(file).parent_path().string() + prefix.substr(origin.size());
  }
  return fs::path(prefix) / name;  // an absolute name stays as it is
}

void check_external(hid_t creation, int files, const fs::path& file, const Column& column,
                    const std::string& where) {
  hsize_t needed = static_cast<hsize_t>(column.rows) * static_cast<hsize_t>(column.row_bytes());
  for (int i = 0; i < files; ++i) {
    std::array<char, 4096> name{};
    off_t offset = 0;
    hsize_t size = 0;
    hdf5::check(
        H5Pget_external(creation, static_cast<unsigned>(i), name.size() - 1, name.data(), &offset, &size),
        ExitCode::bad_data, "read where " + where + " lies");
    const hsize_t part = std::min(size, needed);  // size may be H5F_UNLIMITED
    needed -= part;
    if (part == 0) continue;
    const fs::path path = external_path(file, name.data());
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error) {
      bad(
          fmt::format("{} lies in the external file {}, which cannot be found from here ({}); bring it back, "
                      "or copy the shard where it is whole with `h5repack -l CONTI {} OUT.h5`",
                      where, path.string(), error.message(), file.string()));
    }
    const hsize_t wanted = static_cast<hsize_t>(offset) + part;
    if (bytes < wanted) {
      bad(
          fmt::format("{} lies in the external file {}, which has {} bytes, wanted {}: HDF5 would read the "
                      "rest as zeros; copy that file again",
                      where, path.string(), bytes, wanted));
    }
  }
}

bool lies_in(hid_t dataset, const hdf5::File& file) {
  H5O_info_t own;
  H5O_info_t root;
  return H5Oget_info2(dataset, &own, H5O_INFO_BASIC) >= 0 &&
         H5Oget_info2(file.get(), &root, H5O_INFO_BASIC) >= 0 && own.fileno == root.fileno;
}

}  // namespace

std::string place(const fs::path& file, const std::string& dataset) {
  return fmt::format("dataset {} of {}", dataset, file.string());
}

void read_storage(hid_t dataset, const hdf5::File& opened, const fs::path& file, Column& column) {
  const std::string where = place(file, column.name);
  const auto creation = hdf5::own<hdf5::PropertyList>(H5Dget_create_plist(dataset), ExitCode::bad_data,
                                                      "read how " + where + " is laid out");
  int external = 0;
  switch (H5Pget_layout(creation.get())) {
    case H5D_CONTIGUOUS:
      column.layout = Layout::contiguous;
      external = H5Pget_external_count(creation.get());
      if (external > 0) check_external(creation.get(), external, file, column, where);
      break;
    case H5D_COMPACT:
      column.layout = Layout::compact;
      break;
    case H5D_CHUNKED: {
      column.layout = Layout::chunked;
      std::vector<hsize_t> chunk(column.shape.size() + 1);
      hdf5::check(H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()),
                  ExitCode::bad_data, "read the chunk size of " + where);
      column.chunk_rows = static_cast<std::int64_t>(chunk[0]);
      column.filters = readable_filters(creation.get(), file, where);
      check_all_chunks(dataset, chunk, column, where);
      break;
    }
    default:
      refuse_virtual(creation.get(), file, where);
  }
  if (column.layout != Layout::contiguous || external > 0) return;
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF) {
    if (column.rows == 0) return;
    bad(
        fmt::format("{} was made but never written, and HDF5 would read all of its {} rows as zeros: its "
                    "writer did not finish; make it again",
                    where, column.rows));
  }
  // The offset of a dataset behind an external link is one in the other file.
  if (!lies_in(dataset, opened)) return;
  const auto type =
      hdf5::own<hdf5::Datatype>(H5Dget_type(dataset), ExitCode::bad_data, "read the type of " + where);
  if (H5Tequal(type.get(), hdf5_type(column.type)) > 0) {
    column.file_offset = static_cast<std::int64_t>(offset);
  }
}

}  // namespace lockstep::data
