#include "data/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/utf8.h"

namespace lockstep::data {

namespace {

// Beyond it this is no name.
constexpr std::size_t kMostBytes = 65536;

[[noreturn]] void refuse(const std::string& where, const std::string& seen) {
  throw Error(ExitCode::bad_data,
              fmt::format("{} {}; store names as texts in UTF-8, or remove that dataset", where, seen));
}

std::vector<std::string> read_varying(const hdf5::Dataset& dataset, const hdf5::Dataspace& space,
                                      std::size_t count, const std::string& what) {
  const auto memory = hdf5::own<hdf5::Datatype>(H5Dget_type(dataset.get()), ExitCode::bad_data, what);
  std::vector<char*> texts(count, nullptr);
  hdf5::check(H5Dread(dataset.get(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()),
              ExitCode::bad_data, what);
  std::vector<std::string> names;
  for (const char* text : texts) names.emplace_back(text == nullptr ? "" : text);
  hdf5::check(H5Dvlen_reclaim(memory.get(), space.get(), H5P_DEFAULT, texts.data()), ExitCode::internal,
              what);
  return names;
}

std::vector<std::string> read_fixed(const hdf5::Dataset& dataset, const hdf5::Datatype& type,
                                    std::size_t count, const std::string& what) {
  const std::size_t size = H5Tget_size(type.get());
  std::string bytes(count * size, '\0');
  hdf5::check(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
              ExitCode::bad_data, what);
  const bool blanks = H5Tget_strpad(type.get()) == H5T_STR_SPACEPAD;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    std::string_view name = std::string_view(bytes).substr(i * size, size);
    name = name.substr(0, name.find('\0'));
    while (blanks && name.ends_with(' ')) name.remove_suffix(1);
    names.emplace_back(name);
  }
  return names;
}

std::optional<std::string> first_difference(const std::vector<std::string>& seen,
                                            const std::vector<std::string>& wanted, std::string_view kind,
                                            std::size_t first_number, const std::string& wanted_place) {
  const std::size_t both = std::min(seen.size(), wanted.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (seen[i] == wanted[i]) continue;
    return fmt::format("{} {} \"{}\", where {} has \"{}\"", kind, i + first_number, shown(seen[i]),
                       wanted_place, shown(wanted[i]));
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> read_texts(const hdf5::File& opened, const std::filesystem::path& file,
                                    const std::string& name, std::int64_t most) {
  if (H5Lexists(opened.get(), name.c_str(), H5P_DEFAULT) <= 0) return {};
  const std::string where = fmt::format("dataset {} of {}", name, file.string());
  const std::string what = "read " + where;
  const auto dataset = hdf5::own<hdf5::Dataset>(H5Dopen2(opened.get(), name.c_str(), H5P_DEFAULT),
                                                ExitCode::bad_data, "open " + where);
  const auto type = hdf5::own<hdf5::Datatype>(H5Dget_type(dataset.get()), ExitCode::bad_data, what);
  const auto space = hdf5::own<hdf5::Dataspace>(H5Dget_space(dataset.get()), ExitCode::bad_data, what);
  const htri_t varying = H5Tis_variable_str(type.get());
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_ndims(space.get()) != 1 ||
      (varying <= 0 && H5Tget_size(type.get()) > kMostBytes)) {
    refuse(where, "is no list of names");
  }
  const auto count = static_cast<std::int64_t>(H5Sget_simple_extent_npoints(space.get()));
  if (count > most) refuse(where, fmt::format("has {} names, wanted at most {}", count, most));
  auto names = varying > 0 ? read_varying(dataset, space, static_cast<std::size_t>(count), what)
                           : read_fixed(dataset, type, static_cast<std::size_t>(count), what);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_utf8(names[i])) refuse(where, fmt::format("has \"{}\" in row {}", shown(names[i]), i));
  }
  return names;
}

std::optional<std::string> difference(const Names& seen, const Names& wanted,
                                      const std::string& wanted_place) {
  if (auto text = first_difference(seen.features, wanted.features, "feature", 1, wanted_place)) return text;
  if (auto text = first_difference(seen.targets, wanted.targets, "target", 1, wanted_place)) return text;
  return first_difference(seen.classes, wanted.classes, "class", 0, wanted_place);
}

}  // namespace lockstep::data
