// Lists of ports with ranges, as SLURM_STEP_RESV_PORTS has them: "41000-41002,41043".
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lockstep::spank {

// In the order of the list, without duplicates; nothing where the text is no such list or a port is not
// within 1 to 65535.
std::optional<std::vector<int>> parse_port_list(std::string_view list);

}  // namespace lockstep::spank
