#include "data/find_dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/text.h"
#include "core/utf8.h"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

// The names in a group, a few of them.
std::vector<std::string> names_in(const hdf5::File& file, const std::string& group) {
  constexpr hsize_t most = 20;
  std::vector<std::string> names;
  for (hsize_t i = 0; i < most; ++i) {
    std::array<char, 256> name{};
    const ssize_t length = H5Lget_name_by_idx(file.get(), group.c_str(), H5_INDEX_NAME, H5_ITER_INC, i,
                                              name.data(), name.size(), H5P_DEFAULT);
    if (length < 0) break;
    names.emplace_back(name.data());
  }
  return names;
}

std::string list_of(const std::vector<std::string>& names) {
  std::vector<std::string> readable;
  std::transform(names.begin(), names.end(), std::back_inserter(readable),
                 [](const std::string& name) { return shown(name); });
  return readable.empty() ? "nothing" : fmt::format("{}", fmt::join(readable, ", "));
}

// Where a link that leads nowhere leads.
std::string link_text(const hdf5::File& opened, const std::string& path) {
  H5L_info_t about;
  if (H5Lget_info(opened.get(), path.c_str(), &about, H5P_DEFAULT) < 0) return "a link that cannot be read";
  if (about.type != H5L_TYPE_SOFT && about.type != H5L_TYPE_EXTERNAL) return "a link that leads nowhere";
  std::string value(about.u.val_size + 1, '\0');
  if (H5Lget_val(opened.get(), path.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0) {
    return "a link that cannot be read";
  }
  if (about.type == H5L_TYPE_SOFT) {
    return fmt::format("a soft link to {}, which is not there", shown(value.c_str()));
  }
  const char* file = "";
  const char* object = "";
  unsigned flags = 0;
  if (H5Lunpack_elink_val(value.data(), about.u.val_size, &flags, &file, &object) < 0) {
    return "an external link that cannot be read";
  }
  return fmt::format(
      "an external link to {} in {}, which cannot be found from here: bring that file, or make the "
      "file whole with `h5repack`",
      shown(object), shown(file));
}

// What there is instead of a dataset; empty where it is one.
std::string instead(const hdf5::File& opened, const std::string& path) {
  H5O_info_t about;
  if (H5Oget_info_by_name2(opened.get(), path.c_str(), &about, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
    return "something that cannot be read";
  }
  switch (about.type) {
    case H5O_TYPE_DATASET:
      return "";
    case H5O_TYPE_GROUP: {
      const std::vector<std::string> names = names_in(opened, path);
      return fmt::format("a group, no dataset; in it are: {}", list_of(names));
    }
    default:
      return "a named type, no dataset";
  }
}

[[noreturn]] void refuse(const fs::path& file, const std::string& name, const std::string& what) {
  throw Error(ExitCode::bad_data, fmt::format("{} in {} is {}", shown(name), file.string(), what));
}

[[noreturn]] void refuse_missing(const hdf5::File& opened, const fs::path& file, const std::string& name,
                                 std::string_view hint) {
  const std::string begin = fmt::format("{} has no dataset {}", file.string(), shown(name));
  if (!hint.empty()) throw Error(ExitCode::bad_data, fmt::format("{}; {}", begin, hint));
  const std::vector<std::string> names = names_in(opened, ".");
  const auto near = nearest(name, names);
  throw Error(ExitCode::bad_data,
              fmt::format("{}{}; in its root are: {}", begin,
                          near ? fmt::format(", did you mean {}?", shown(*near)) : "", list_of(names)));
}

}  // namespace

void require_dataset(const hdf5::File& opened, const fs::path& file, const std::string& name,
                     std::string_view hint) {
  std::string path;
  std::string what = instead(opened, "/");
  // HDF5 answers a question about "a/b" only where "a" is a group.
  for (const std::string& part : split(name, '/')) {
    if (part.empty()) continue;
    if (what.empty()) refuse(file, path.substr(1), "a dataset, no group: there is nothing below it");
    path += "/" + part;
    if (H5Lexists(opened.get(), path.c_str(), H5P_DEFAULT) <= 0) refuse_missing(opened, file, name, hint);
    if (H5Oexists_by_name(opened.get(), path.c_str(), H5P_DEFAULT) <= 0) {
      refuse(file, path.substr(1), link_text(opened, path));
    }
    what = instead(opened, path);
  }
  if (!what.empty()) refuse(file, path.empty() ? "/" : path.substr(1), what);
}

}  // namespace lockstep::data
