// Configurations: whatever a file holds, it is refused in one message that names it, or it is taken, and what
// is printed of it is read the same again.
#include <string>

#include "core/error.h"
#include "require.h"
#include "train/config_source.h"

using namespace lockstep;

extern "C" const char* const fuzz_dictionary[] = {"[data]",
                                                  "[model]",
                                                  "[optim]",
                                                  "[train]",
                                                  "[eval]",
                                                  "[checkpoint]",
                                                  "[limits]",
                                                  "train = ",
                                                  "steps",
                                                  "micro_batch",
                                                  "global_batch",
                                                  "lr",
                                                  "schedule",
                                                  "cosine",
                                                  "name",
                                                  "cnn",
                                                  "hidden",
                                                  "reduction",
                                                  "exact",
                                                  "seed",
                                                  "= ",
                                                  "\n",
                                                  "# ",
                                                  "1e308",
                                                  "-1",
                                                  "0.5",
                                                  "nan",
                                                  "inf",
                                                  "18446744073709551615",
                                                  nullptr};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(text_of(data, size));
  try {
    const auto resolved = train::resolve_config_text(text, "run.conf", {});
    const std::string ini = train::to_ini(resolved, false);
    const auto again = train::resolve_config_text(ini, "run.conf", {});
    require(train::canonical_text(again) == train::canonical_text(resolved));
    require(train::differences(train::canonical_text(resolved), again).empty());
    require(resolved.config.virtual_workers() >= 1);
  } catch (const Error& error) {
    require(error.code() == ExitCode::bad_config);
    require_message(error.what(), "run.conf");
  }
  return 0;
}
