// Reads a file of test/fixtures/oracle, whose make.py tells what lies in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hdf5/handle.h"

namespace lockstep::test {

class OracleFile {
 public:
  // MODEL of test/fixtures/oracle/MODEL.h5; the tests run at the top of the repository.
  explicit OracleFile(const std::string& model);

  // A whole dataset, converted to the type of the result.
  std::vector<float> floats(const std::string& dataset) const;
  std::vector<double> doubles(const std::string& dataset) const;
  std::vector<std::int32_t> integers(const std::string& dataset) const;
  std::vector<std::int64_t> shape(const std::string& dataset) const;
  // The names below a group, in alphabetical order.
  std::vector<std::string> members(const std::string& group) const;

  // An attribute of a group or dataset: one number, or anything as the text that a configuration would have.
  double number(const std::string& object, const std::string& attribute) const;
  std::optional<std::string> text(const std::string& object, const std::string& attribute) const;

 private:
  hdf5::File file_;
};

}  // namespace lockstep::test
