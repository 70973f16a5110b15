#include "plugin/faults.h"

#include <algorithm>
#include <stdexcept>

namespace lockstep::spank {

Fault parse_fault(std::string_view text) {
  const auto colon = text.find(':');
  return {std::string(text.substr(0, colon)), text.substr(std::min(colon, text.size())) != ":int"};
}

void inject(const Fault& fault, std::string_view callback) {
  if (!faults_built_in || fault.callback != callback) return;
  if (fault.standard) throw std::runtime_error("a fault that was asked for");
  // Anything may be thrown: this is what the last catch is for.
  throw 1;
}

}  // namespace lockstep::spank
