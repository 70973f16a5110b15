#include "plan/user_file.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "plan/applied.h"

using namespace lockstep::spank;

namespace {

std::string path_of(const Environment& environment, const UserOptions& options = {}) {
  return user_file_path(environment, options, ::getuid()).string();
}

}  // namespace

TEST_CASE("NCCL_CONF_FILE stands for ~/.nccl.conf, whoever of the user's sets it", "[plan]") {
  CHECK(path_of({{"HOME", "/h"}}) == "/h/.nccl.conf");
  CHECK(path_of({{"HOME", "/h"}, {"NCCL_CONF_FILE", "/a"}}) == "/a");
  CHECK(path_of({{"HOME", "/h"}, {"NCCL_CONF_FILE", ""}}) == "/h/.nccl.conf");
  UserOptions options;
  options.set = {{"NCCL_CONF_FILE", "/b"}};
  CHECK(path_of({{"HOME", "/h"}, {"NCCL_CONF_FILE", "/a"}}, options) == "/b");
  options = {};
  options.unset = {"NCCL_CONF_FILE"};
  CHECK(path_of({{"HOME", "/h"}, {"NCCL_CONF_FILE", "/a"}}, options) == "/h/.nccl.conf");
}

TEST_CASE("a NCCL_CONF_FILE that an outer step's option has set is not this step's", "[plan]") {
  CHECK(path_of({{"HOME", "/h"},
                 {"NCCL_CONF_FILE", "/a"},
                 {applied_variable, describe_applied({{"NCCL_CONF_FILE", "/a"}})}}) == "/h/.nccl.conf");
}

TEST_CASE("without HOME the home folder is the one in /etc/passwd", "[plan]") {
  const std::string passwd = "root:x:0:0:root:/r:/bin/bash\n# 7\nbroken:x:7\nu:x:7:7:,,,:/h/u:/bin/sh\n";
  CHECK(home_in(passwd, 7) == "/h/u");
  CHECK(home_in(passwd, 0) == "/r");
  CHECK(home_in(passwd, 8).empty());
  CHECK(home_in("", 0).empty());
}
