// What the tests of the importers share: files to import, and what comes of them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/importer.h"
#include "data_fixture.h"

namespace lockstep::test {

void write_bytes(const std::filesystem::path& path, const std::string& bytes);
void write_gzip(const std::filesystem::path& path, const std::string& bytes);

// Files under `folder`, hidden ones too.
std::int64_t files_below(const std::filesystem::path& folder);

using Options = std::map<std::string, std::vector<std::string>>;

// Runs the importer as the command line does, without its checks of required options.
data::Imported import(const std::string& format, const Options& options, const data::ImportTarget& target);

// The error of it, "65: text"; checks that it leaves nothing at target.out.
std::string import_error(const std::string& format, const Options& options, const data::ImportTarget& target);

// All samples and labels of a split as they are stored, in order.
struct Stored {
  std::vector<double> x;
  std::vector<double> y;
};
Stored stored_in(const std::filesystem::path& split);

}  // namespace lockstep::test
