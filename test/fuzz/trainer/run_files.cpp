// The small files of a run folder (outcome, owner, failures): whatever a crash or a full disk has left of
// one, it is read, and what is written is read back the same.
#include "require.h"
#include "train/attempt.h"
#include "train/outcome.h"
#include "train/requeue.h"

using namespace lockstep;

extern "C" const char* const fuzz_dictionary[] = {
    "code=",    "75",       "step=",    "reason=", "who=",
    "job=",     "restart=", "cluster=", "node=",   "pid=",
    "started=", "slurm=1",  "\n",       "ended=1", "9223372036854775807",
    "-1 ",      nullptr};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);

  const train::Outcome outcome = train::parse_outcome(text);
  (void)train::decide({outcome, 1, {}, 0, 0, 3});
  (void)train::is_failure(outcome, 1);

  const train::FailureCount failures = train::parse_failures(text);
  require(failures.count >= 0 && failures.count < 2'000'000 && failures.checkpoint_step >= -1);

  const train::Attempt owner = train::parse_attempt(text);
  require(train::to_text(train::parse_attempt(train::to_text(owner))) == train::to_text(owner));
  return 0;
}
