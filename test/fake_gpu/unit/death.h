// Whether code dies, and of what.
#pragma once

#include <functional>
#include <string>

namespace fake_gpu {

// What `body` says on stderr when it is run in a child process and aborts there; empty if it does not abort.
std::string last_words(const std::function<void()>& body);

}  // namespace fake_gpu
