#include "core/trace.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "core/text.h"
#include "json_check.h"
#include "temp_folder.h"

using namespace lockstep;

namespace {

std::string text_of(const std::filesystem::path& file) {
  return read_text(file).value();
}

std::string warned;
const Trace::Warn remember = [](const std::string& text) { warned += text; };

}  // namespace

TEST_CASE("the checker of these tests tells JSON from what is none", "[core]") {
  using test::JsonCheck;
  CHECK(JsonCheck::accepts(R"([{"a":1,"b":[-2.5e3,"x\"\u00e9",null,true]},{}] )"));
  for (const char* wrong :
       {"", "[1,]", "{1:2}", "[1 2]", "[\"a]", "[\"\\x\"]", "{\"a\":}", "[1]x", "[01.]", "nul"}) {
    INFO(wrong);
    CHECK_FALSE(JsonCheck::accepts(wrong));
  }
}

TEST_CASE("a trace is JSON, with a name for its rank, whatever the names hold", "[core]") {
  const TempFolder folder;
  const auto file = folder / "trace.json";
  {
    Trace trace(file, 2, "n\"3\xff", remember);
    CHECK(test::JsonCheck::accepts(text_of(file) + "[]"));  // nothing is written yet
    const Span outer(&trace, "step", "step", 7);
    const Span inner(&trace, "for\\ward", "compute");
    const Span elsewhere(&trace, "read", "data", std::nullopt, Row::loader);
  }
  const std::string text = text_of(file);
  CHECK(test::JsonCheck::accepts(text));
  CHECK(text.find(R"("args":{"name":"rank 2 on n\"3\ufffd"})") != std::string::npos);
  CHECK(text.find(R"("args":{"step":7})") != std::string::npos);
  CHECK(text.find(R"("name":"read","cat":"data","ph":"X")") != std::string::npos);
}

TEST_CASE("a trace that is cut off lacks its closing bracket alone", "[core]") {
  const TempFolder folder;
  const auto file = folder / "trace.json";
  Trace trace(file, 0, "n0", remember);
  // The first span is written at once, as any that comes more than a second after the last write.
  trace.add("early", "c", Row::training, monotonic_seconds(), monotonic_seconds());
  const std::string text = text_of(file);
  CHECK(text.find("early") != std::string::npos);
  CHECK(test::JsonCheck::accepts(text + "]"));
}

TEST_CASE("memory stays bounded: much is written before a second is over", "[core]") {
  const TempFolder folder;
  const auto file = folder / "trace.json";
  Trace trace(file, 0, "n0", remember);
  const double now = monotonic_seconds();
  for (int i = 0; i < 2000; ++i) trace.add("span", "c", Row::training, now, now);
  CHECK(std::filesystem::file_size(file) > 100000);
}

TEST_CASE("spans that nest in seconds nest in the file's microseconds", "[core]") {
  const TempFolder folder;
  const auto file = folder / "trace.json";
  {
    Trace trace(file, 0, "n0", remember);
    const double now = monotonic_seconds();
    for (int i = 0; i < 1000; ++i) {
      const double begin = now + i * 2.234567e-6;
      trace.add("inner", "c", Row::training, begin + 0.9e-6, begin + 1.9e-6);
      trace.add("outer", "c", Row::training, begin, begin + 1.95e-6);
    }
  }
  long inner_begin = 0;
  long inner_end = 0;
  int pairs = 0;
  for (const std::string& line : split(text_of(file), '\n')) {
    const auto number = [&](const char* key) {
      const auto at = line.find(key) + std::string_view(key).size();
      return std::stol(line.substr(at));
    };
    if (line.find("\"inner\"") != std::string::npos) {
      inner_begin = number("\"ts\":");
      inner_end = inner_begin + number("\"dur\":");
    } else if (line.find("\"outer\"") != std::string::npos) {
      ++pairs;
      CHECK(number("\"ts\":") <= inner_begin);
      CHECK(number("\"ts\":") + number("\"dur\":") >= inner_end);
    }
  }
  CHECK(pairs == 1000);
}

TEST_CASE("a trace that cannot be written says so once and goes on", "[core]") {
  if (!std::filesystem::exists("/dev/full")) return;
  warned.clear();
  {
    Trace trace("/dev/full", 0, "n0", remember);
    for (int i = 0; i < 3; ++i) {
      const Span span(&trace, "step", "step");
    }
  }
  CHECK(warned.find("the trace ends here") != std::string::npos);
  CHECK(warned.find("the trace ends here") == warned.rfind("the trace ends here"));
  CHECK_THROWS_AS(Trace("/no/such/folder/trace.json", 0, "n0", remember), Error);
}

TEST_CASE("a span without a trace does nothing", "[core]") {
  const Span span(nullptr, "step", "step");
}

TEST_CASE("the ranks, jobs and restarts of a run have traces of their own", "[core]") {
  CHECK(trace_path("out/trace.json", "", 0, 3) == "out/trace.3.json");
  CHECK(trace_path("trace.json", "17", 0, 0) == "trace.job17.0.json");
  CHECK(trace_path("trace.json", "17", 2, 0) == "trace.job17.restart2.0.json");
  CHECK(trace_path("trace", "", 0, 1) == "trace.1");
}
