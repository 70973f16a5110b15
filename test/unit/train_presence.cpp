#include "train/presence.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

#include "temp_folder.h"

using lockstep::train::Presence;

TEST_CASE("a rank that is killed is known to be gone", "[train]") {
  const TempFolder folder;
  const auto file = folder / "present";
  const Presence mine(file, 0);
  REQUIRE(mine.held());
  CHECK(mine.is_gone(1));

  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Presence theirs(file, 1);
    const char held = theirs.held() ? 1 : 0;
    (void)!::write(ends[1], &held, 1);
    for (;;) ::pause();
  }
  char held = 0;
  REQUIRE(::read(ends[0], &held, 1) == 1);
  CHECK(held == 1);
  CHECK_FALSE(mine.is_gone(1));
  CHECK(mine.is_gone(2));

  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(mine.is_gone(1));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("where the file cannot be made or the place is taken, nothing is held", "[train]") {
  const TempFolder folder;
  CHECK_FALSE(Presence(folder / "none" / "present", 0).held());
  const Presence first(folder / "present", 3);
  CHECK(first.held());
  CHECK_FALSE(Presence(folder / "present", 3).held());
}
