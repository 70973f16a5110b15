// Stands in for a profiler: NVTX loads it where NVTX_INJECTION64_PATH names it. Writes the name of each range
// of the domain "lockstep", indented by its depth, to the file $NVTX_RANGES.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace {

int domain_of_lockstep = 0;
std::mutex mutex;
thread_local int depth = 0;

std::FILE* file() {
  static std::FILE* const opened = std::fopen(std::getenv("NVTX_RANGES"), "we");
  return opened;
}

nvtxDomainHandle_t NVTX_API create(const char* name) {
  return std::strcmp(name, "lockstep") == 0 ? reinterpret_cast<nvtxDomainHandle_t>(&domain_of_lockstep)
                                            : nullptr;
}

int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  if (domain != reinterpret_cast<nvtxDomainHandle_t>(&domain_of_lockstep)) return -1;
  const std::lock_guard guard(mutex);
  std::fprintf(file(), "%*s%s\n", 2 * depth, "", range->message.ascii);
  std::fflush(file());
  return depth++;
}

int NVTX_API pop(nvtxDomainHandle_t domain) {
  return domain == reinterpret_cast<nvtxDomainHandle_t>(&domain_of_lockstep) ? --depth : -1;
}

template <typename Function>
void install(NvtxFunctionTable table, unsigned place, Function function) {
  *table[place] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table_of) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
    return 0;
  if (size <= NVTX_CBID_CORE2_DomainCreateA) return 0;
  install(table, NVTX_CBID_CORE2_DomainCreateA, create);
  install(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  install(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}
