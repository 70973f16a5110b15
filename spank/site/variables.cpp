#include "site/variables.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

#include "core/text.h"
#include "site/in_quotes.h"

namespace lockstep::spank {

namespace {

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();

struct Type {
  std::string_view variable;
  // A number within these, or one of the words. A type with words only has least > most.
  std::int64_t least = 0;
  std::int64_t most = any;
  std::string_view words = {};  // separated by blanks
  bool ignores_case = false;
};

constexpr Type number(std::string_view variable, std::int64_t least = 0, std::int64_t most = any) {
  return {variable, least, most};
}
constexpr Type toggle(std::string_view variable) {
  return {variable, 0, 1};
}
constexpr Type word(std::string_view variable, std::string_view words, bool ignores_case = false) {
  return {variable, 1, 0, words, ignores_case};
}
constexpr Type distance(std::string_view variable) {
  return {variable, 0, 5, "LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS", true};
}

// Types and ranges: NCCL's manual, chapter "Environment Variables", as of 2.30. By name, for binary search.
constexpr std::array types = {
    word("CUDA_DEVICE_ORDER", "FASTEST_FIRST PCI_BUS_ID"),
    number("NCCL_BUFFSIZE"),
    toggle("NCCL_CHECK_POINTERS"),
    toggle("NCCL_COLLNET_ENABLE"),
    number("NCCL_COLLNET_NODE_THRESHOLD"),
    toggle("NCCL_COMM_BLOCKING"),
    number("NCCL_CROSS_NIC", 0, 2),
    toggle("NCCL_CUMEM_ENABLE"),
    toggle("NCCL_CUMEM_HOST_ENABLE"),
    word("NCCL_DEBUG", "NONE VERSION WARN INFO ABORT TRACE", true),
    toggle("NCCL_DMABUF_ENABLE"),
    toggle("NCCL_GDRCOPY_ENABLE"),
    toggle("NCCL_GRAPH_MIXING_SUPPORT"),
    toggle("NCCL_GRAPH_REGISTER"),
    toggle("NCCL_IB_ADAPTIVE_ROUTING"),
    word("NCCL_IB_ADDR_FAMILY", "AF_INET AF_INET6"),
    toggle("NCCL_IB_DISABLE"),
    number("NCCL_IB_GID_INDEX", -1, 255),
    toggle("NCCL_IB_MERGE_NICS"),
    toggle("NCCL_IB_MERGE_VFS"),
    number("NCCL_IB_PCI_RELAXED_ORDERING", 0, 2),
    number("NCCL_IB_QPS_PER_CONNECTION", 1, 128),
    number("NCCL_IB_RETRY_CNT", 0, 7),
    toggle("NCCL_IB_RETURN_ASYNC_EVENTS"),
    number("NCCL_IB_ROCE_VERSION_NUM", 1, 2),
    number("NCCL_IB_SL", 0, 15),
    toggle("NCCL_IB_SPLIT_DATA_ON_QPS"),
    number("NCCL_IB_TC", 0, 255),
    number("NCCL_IB_TIMEOUT"),
    toggle("NCCL_IGNORE_CPU_AFFINITY"),
    word("NCCL_LAUNCH_MODE", "GROUP PARALLEL"),
    toggle("NCCL_LOCAL_REGISTER"),
    number("NCCL_MAX_CTAS", 1),
    number("NCCL_MAX_NCHANNELS", 1),
    number("NCCL_MIN_CTAS", 1),
    number("NCCL_MIN_NCHANNELS", 1),
    number("NCCL_MNNVL_ENABLE", 0, 2),
    number("NCCL_NCHANNELS_PER_NET_PEER", 1),
    distance("NCCL_NET_GDR_LEVEL"),
    toggle("NCCL_NET_GDR_READ"),
    toggle("NCCL_NET_SHARED_BUFFERS"),
    toggle("NCCL_NET_SHARED_COMMS"),
    number("NCCL_NSOCKS_PERTHREAD", 1, 64),
    number("NCCL_NTHREADS", 64),
    number("NCCL_NVLSTREE_MAX_CHUNKSIZE"),
    number("NCCL_NVLS_CHUNKSIZE"),
    number("NCCL_NVLS_ENABLE", 0, 2),
    toggle("NCCL_OOB_NET_ENABLE"),
    toggle("NCCL_P2P_DISABLE"),
    distance("NCCL_P2P_LEVEL"),
    number("NCCL_P2P_NET_CHUNKSIZE"),
    number("NCCL_P2P_PXN_LEVEL", 0, 2),
    toggle("NCCL_PXN_DISABLE"),
    toggle("NCCL_RAS_ENABLE"),
    number("NCCL_RAS_TIMEOUT_FACTOR", 1),
    toggle("NCCL_RUNTIME_CONNECT"),
    toggle("NCCL_SET_STACK_SIZE"),
    toggle("NCCL_SET_THREAD_NAME"),
    toggle("NCCL_SHM_DISABLE"),
    word("NCCL_SOCKET_FAMILY", "AF_INET AF_INET6"),
    number("NCCL_SOCKET_NTHREADS", 1, 16),
    number("NCCL_SOCKET_RETRY_CNT"),
    number("NCCL_SOCKET_RETRY_SLEEP_MSEC"),
    number("NCCL_TOPO_DUMP_FILE_RANK"),
    number("NCCL_WORK_FIFO_BYTES"),
};

constexpr auto names = [] {
  std::array<std::string_view, types.size()> result;
  std::transform(types.begin(), types.end(), result.begin(), [](const Type& type) { return type.variable; });
  return result;
}();
static_assert(std::is_sorted(names.begin(), names.end()));

const Type* type_of(std::string_view variable) {
  const auto* found = std::lower_bound(names.begin(), names.end(), variable);
  return found != names.end() && *found == variable ? &types[found - names.begin()] : nullptr;
}

// As strtoll with base 0: what it takes of the text, and how much of it. Nothing: more than 64 bits hold.
struct Number {
  std::int64_t value = 0;
  bool all = false;    // nothing of the text is left over
  bool octal = false;  // by a leading 0
};

std::optional<Number> read_number(std::string_view text) {
  std::string_view digits = text;
  const bool negative = !digits.empty() && digits.front() == '-';
  if (negative || (!digits.empty() && digits.front() == '+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
  }
  Number number;
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, base);
  if (error == std::errc::result_out_of_range || size > static_cast<std::uint64_t>(any)) return std::nullopt;
  number.value = negative ? -static_cast<std::int64_t>(size) : static_cast<std::int64_t>(size);
  number.all = !digits.empty() && end == digits.data() + digits.size();
  number.octal = base == 8;
  return number;
}

bool is_one_of(std::string_view text, const Type& type) {
  const auto words = split(type.words, ' ');
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return type.ignores_case ? ::strcasecmp(word.c_str(), std::string(text).c_str()) == 0 : word == text;
  });
}

std::string what_is_taken(const Type& type) {
  const std::string words = fmt::format("{}", fmt::join(split(type.words, ' '), ", "));
  if (type.least > type.most) return "one of " + words;
  const std::string range = type.most == any ? fmt::format("a whole number from {}", type.least)
                                             : fmt::format("a number from {} to {}", type.least, type.most);
  return words.empty() ? range : fmt::format("one of {}, or {}", words, range);
}

}  // namespace

std::optional<std::string> fault_of_value(std::string_view variable, std::string_view value) {
  const Type* type = type_of(variable);
  // An empty value counts as none. Blanks around numbers are passed over, those around words are not.
  const std::string_view text = trim(value);
  if (type == nullptr || text.empty() || is_one_of(value, *type)) return std::nullopt;
  const std::string taken = what_is_taken(*type);
  if (type->least > type->most) return fmt::format("is {}, not {}", in_quotes(value), taken);
  const auto number = read_number(text);
  if (!number) return fmt::format("is {}, which is too large: it takes {}", in_quotes(text), taken);
  if (!number->all || number->octal) {
    return fmt::format("is {}, which NCCL reads as {}: it takes {}", in_quotes(text), number->value, taken);
  }
  if (number->value < type->least || number->value > type->most) {
    return fmt::format("is {}, not {}", in_quotes(text), taken);
  }
  return std::nullopt;
}

std::span<const std::string_view> typed_variables() {
  return names;
}

bool is_on(std::string_view value) {
  const auto number = read_number(trim(value));
  return number && number->value != 0;
}

}  // namespace lockstep::spank
