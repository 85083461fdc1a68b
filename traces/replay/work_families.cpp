#include "traces/replay/work_families.hpp"

#include <map>
#include <utility>

namespace lockstep::replay {

WorkFamilies::WorkFamilies(const kineto::RecordedTrace& trace, const TraceLinks& links,
                           const KernelFamilies& families) {
  std::map<std::pair<kineto::NameId, kineto::NameId>, std::uint32_t> known;  // by kernel and launcher
  for (std::uint32_t work = 0; work < trace.work.size(); ++work) {
    const std::uint32_t call = links.call_of_work[work];
    const std::uint32_t op = call == kNone ? kNone : links.operator_of_call[call];
    const kineto::NameId launcher = op == kNone ? 0 : trace.operators[op].name;
    const auto [entry, fresh] =
        known.try_emplace({trace.work[work].name, launcher}, static_cast<std::uint32_t>(origins_.size()));
    if (fresh) {
      const std::string& name = trace.names.text(launcher);
      origins_.push_back({families.of(trace.names.text(trace.work[work].name), name), name});
    }
    of_work_.push_back(entry->second);
  }
}

KernelOrigins origins_by_name(const Program& program, const KernelFamilies& families) {
  KernelOrigins origins;
  for (const KernelCall& kernel : program.kernels) {
    origins.push_back({families.of(kernel.name), ""});
  }
  return origins;
}

}  // namespace lockstep::replay
