// The version of what the plugin decides: two nodes with other versions may decide otherwise.
#pragma once

namespace lockstep::spank {

inline constexpr const char* plugin_version_text = LOCKSTEP_VERSION;

}  // namespace lockstep::spank
