#pragma once

/// @file
/// "What if": changes to a replay, as the user writes them and as Programs take them.

#include <array>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "ops/job.hpp"

namespace lockstep::replay {

/// Kernels, by name, that take another time or are gone.
struct KernelEdit {
  std::string match;
  double faster = 1;
  bool remove = false;

  template <class Visitor>
  static void describe(Visitor& key, KernelEdit& edit) {
    key.required("match", edit.match, "part of the kernels' names, in any case; * stands for anything");
    key.optional("faster", edit.faster, 1, "how many times as fast they are, e.g. 2");
    key.optional("remove", edit.remove, false, "they are not launched at all (fused into another)");
  }
  void check() const;
};

/// What ranks that do the same take for it.
enum class StragglerEdit : std::uint8_t { Keep, Median, Fastest };
constexpr auto names_of(StragglerEdit /*unused*/) {
  return std::to_array<EnumName<StragglerEdit>>({{StragglerEdit::Keep, "keep"},
                                                 {StragglerEdit::Median, "median"},
                                                 {StragglerEdit::Fastest, "fastest"}});
}

struct WhatIfSpec {
  double gpu_speed = 1;
  double host_speed = 1;
  std::vector<KernelEdit> kernels;
  bool cuda_graphs = false;
  bool host_waits = true;
  bool data_loading = true;
  double communication = 1;
  StragglerEdit stragglers = StragglerEdit::Keep;

  template <class Visitor>
  static void describe(Visitor& key, WhatIfSpec& edit) {
    key.optional("gpu_speed", edit.gpu_speed, 1,
                 "all kernels so many times as fast; copies and communication as they are");
    key.optional("host_speed", edit.host_speed, 1, "host threads so many times as fast");
    key.optional("kernels", edit.kernels, {}, "kernels that are faster, or gone");
    key.optional(
        "cuda_graphs", edit.cuda_graphs, false,
        "what is launched between two host waits is launched as one graph: no host time between, but "
        "for data loading");
    key.optional("host_waits", edit.host_waits, true, "false: threads never wait for the GPU before the end");
    key.optional("data_loading", edit.data_loading, true,
                 "false: no host time within data loaders (ranges named enumerate(DataLoader)...)");
    key.optional("communication", edit.communication, 1,
                 "bytes of collectives are multiplied by it, e.g. 0.5 for half precision");
    key.optional("stragglers", edit.stragglers, StragglerEdit::Keep,
                 "kernels that all ranks launch take the median of the ranks' times, or the least");
  }
  void check() const;
};

/// One change, and what to call it.
struct NamedWhatIf {
  std::string name;
  WhatIfSpec edit;
};

/// Each change of @p edit alone, then, where there are several, all together.
[[nodiscard]] std::vector<NamedWhatIf> one_by_one(const WhatIfSpec& edit);

/// @p job with the change; GPU and host speeds apart, which are factors of the simulation. Programs keep
/// their instructions in place (those that are gone do nothing), so that what they stand for stays known.
[[nodiscard]] Job edited(const Job& job, const WhatIfSpec& edit);

}  // namespace lockstep::replay
