#include "traces/kineto/recorded_trace.hpp"

#include <array>
#include <utility>

namespace lockstep::kineto {
namespace {

struct Prefix {
  std::string_view text;
  CallKind kind;
};

// After the vendor's prefix; the first that a name starts with. Source: the CUDA and HIP runtime and driver
// interfaces and the names in the traces of ../shared/data/traces.
constexpr auto kPrefixes = std::to_array<Prefix>({
    {"GraphLaunch", CallKind::GraphLaunch},
    {"LaunchHostFunc", CallKind::Other},
    {"Launch", CallKind::Launch},
    {"ExtLaunch", CallKind::Launch},
    {"ExtModuleLaunch", CallKind::Launch},
    {"ModuleLaunch", CallKind::Launch},
    {"Memcpy", CallKind::Launch},
    {"Memset", CallKind::Launch},
    {"EventRecord", CallKind::EventRecord},
    {"StreamWaitEvent", CallKind::StreamWait},
    {"EventSynchronize", CallKind::EventSync},
    {"StreamSynchronize", CallKind::StreamSync},
    {"DeviceSynchronize", CallKind::DeviceSync},
    {"CtxSynchronize", CallKind::DeviceSync},
    {"Malloc", CallKind::Memory},
    {"Free", CallKind::Memory},
    {"HostAlloc", CallKind::Memory},
    {"HostMalloc", CallKind::Memory},
    {"HostFree", CallKind::Memory},
    {"Mem", CallKind::Memory},
});

std::string_view without_vendor(std::string_view name) {
  for (const std::string_view vendor : {"cuda", "hip", "cu", "musa"}) {
    if (name.starts_with(vendor)) {
      return name.substr(vendor.size());
    }
  }
  return {};
}

}  // namespace

NameId NameTable::number(std::string_view text) {
  if (const auto known = numbers_.find(text); known != numbers_.end()) {
    return known->second;
  }
  const auto next = static_cast<NameId>(texts_.size());
  numbers_.emplace(texts_.emplace_back(text), next);
  return next;
}

CallKind call_kind(std::string_view runtime_name) {
  const std::string_view name = without_vendor(runtime_name);
  for (const Prefix& prefix : kPrefixes) {
    if (name.starts_with(prefix.text)) {
      return prefix.kind;
    }
  }
  return CallKind::Other;
}

}  // namespace lockstep::kineto
