#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/program.hpp"
#include "traces/kernels/kernel_families.hpp"
#include "traces/replay/trace_links.hpp"

namespace lockstep::replay {

/// The family of a piece of GPU work, and its launcher.
struct WorkOrigin {
  std::string family;    ///< as KernelFamilies says
  std::string launcher;  ///< innermost operator around its launch; empty: none, or not seen
  bool operator==(const WorkOrigin&) const = default;
  [[nodiscard]] bool communicates() const { return family == KernelFamilies::kCommunication; }
};

/// The origins of a trace's work.
class WorkFamilies {
 public:
  WorkFamilies() = default;
  WorkFamilies(const kineto::RecordedTrace& trace, const TraceLinks& links, const KernelFamilies& families);

  /// Equal numbers mean equal names of kernel, launcher and family.
  [[nodiscard]] std::uint32_t number(std::uint32_t work) const { return of_work_[work]; }
  [[nodiscard]] const WorkOrigin& origin(std::uint32_t work) const { return origins_[of_work_[work]]; }
  [[nodiscard]] bool communicates(std::uint32_t work) const { return origin(work).communicates(); }

 private:
  std::vector<WorkOrigin> origins_;
  std::vector<std::uint32_t> of_work_;  // index into origins_
};

/// Origins of a Program's kernels, by Program::kernels.
using KernelOrigins = std::vector<WorkOrigin>;

/// Origins for a Program that stands for no trace: told by the kernels' names alone.
[[nodiscard]] KernelOrigins origins_by_name(const Program& program,
                                            const KernelFamilies& families = standard_families());

}  // namespace lockstep::replay
