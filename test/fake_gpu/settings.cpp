#include "settings.h"

#include <cstdlib>

#include "stream.h"

namespace fake_gpu {

std::string text_setting(const char* name, const char* otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : text;
}

long setting(const char* name, long otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr) {
    return otherwise;
  }
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 0) {
    die(std::string(name) + "=" + text + " is no number");
  }
  return value;
}

bool reverse_order() {
  const std::string order = text_setting("FAKE_GPU_ORDER", "");
  if (!order.empty() && order != "reverse") {
    die("FAKE_GPU_ORDER=" + order + ": only 'reverse' is known");
  }
  return order == "reverse";
}

}  // namespace fake_gpu
