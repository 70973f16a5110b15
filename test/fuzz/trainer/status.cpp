// What a live run says about itself (RUN/status): whatever bytes are there, they are read, and what is read
// can be written and read back the same.
#include "train/status.h"

#include "require.h"

using namespace lockstep;

extern "C" const char* const fuzz_dictionary[] = {
    "job=",      "restart=", "node=", "ranks=", "phase=", "step=", "total=", "epoch=", "loss=",
    "end_time=", "written=", "nan",   "-inf",   "1e308",  "\n",    "=",      nullptr};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const train::Status status = train::parse_status(text_of(data, size));
  const std::string text = train::to_text(status);
  require(train::to_text(train::parse_status(text)) == text);
  (void)train::json_members(status);
  return 0;
}
