#pragma once

/// @file
/// "What if": changes to a replay, as the user writes them and as Programs take them.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "base/units.hpp"
#include "ops/job.hpp"
#include "topology/cluster_spec.hpp"
#include "traces/replay/bucket_edit.hpp"
#include "traces/replay/network_edit.hpp"
#include "traces/replay/work_families.hpp"

namespace lockstep::replay {

/// Kernels, by name, family or launching operator, that take another time or are gone. Where several are said
/// all of them have to fit.
struct KernelEdit {
  std::string match;
  double faster = 1;
  bool remove = false;
  bool fuse = false;
  std::string family, launcher;
  bool operator==(const KernelEdit&) const = default;

  template <class Visitor>
  static void describe(Visitor& key, KernelEdit& edit) {
    key.optional("match", edit.match, "",
                 "part of the kernels' names, in any case; * stands for anything; the name of a family also "
                 "finds all of it");
    key.optional("family", edit.family, "",
                 "kernels that do this: gemm, attention, ... (configs/kernel_families)");
    key.optional("operator", edit.launcher, "",
                 "kernels that this operator launches, the innermost one around the launch, e.g. aten::mm; * "
                 "stands for anything");
    key.optional("faster", edit.faster, 1, "how many times as fast they are, e.g. 2");
    key.optional("remove", edit.remove, false, "they are not launched at all (fused into another)");
    key.optional(
        "fuse", edit.fuse, false,
        "runs of them on a stream, with no other work and no wait between, become one kernel that "
        "takes as long as the longest: element-wise work, which memory bounds, reads and writes once");
  }
  void check() const;

  /// Names the kernels for messages: `kernels 'gemm'`, `kernels of family gemm`.
  [[nodiscard]] std::string described() const;
};

/// Collectives of a kind that send less.
struct CollectiveEdit {
  std::string match;
  double bytes = 1;
  Seconds extra{0};
  bool operator==(const CollectiveEdit&) const = default;

  template <class Visitor>
  static void describe(Visitor& key, CollectiveEdit& edit) {
    key.required("match", edit.match, "part of the kind's name: all_reduce, all_to_all, all_gather, ...");
    key.optional(
        "bytes", edit.bytes, 1,
        "bytes, or recorded transfer times, are multiplied by it: 0.5 of half precision, 0.25 of INT8");
    key.optional("extra", edit.extra, Seconds{0},
                 "begins so much later: quantising and restoring on the GPU");
  }
  void check() const;
};

/// The time that ranks with the same work get for it.
enum class StragglerEdit : std::uint8_t { Keep, Median, Fastest };
constexpr auto names_of(StragglerEdit /*unused*/) {
  return std::to_array<EnumName<StragglerEdit>>({{StragglerEdit::Keep, "keep"},
                                                 {StragglerEdit::Median, "median"},
                                                 {StragglerEdit::Fastest, "fastest"}});
}

/// The work of the ranks that is compared.
enum class StragglerWork : std::uint8_t { Kernels, Host, Both };
constexpr auto names_of(StragglerWork /*unused*/) {
  return std::to_array<EnumName<StragglerWork>>(
      {{StragglerWork::Kernels, "kernels"}, {StragglerWork::Host, "host"}, {StragglerWork::Both, "both"}});
}

struct WhatIfSpec {
  double gpu_speed = 1;
  double host_speed = 1;
  std::vector<KernelEdit> kernels;
  bool cuda_graphs = false;
  bool host_waits = true;
  bool data_loading = true;
  double communication = 1;
  std::vector<CollectiveEdit> collectives;
  std::optional<BucketEdit> buckets;
  std::optional<NetworkEdit> network;
  std::optional<Named<ClusterSpec>> cluster;
  StragglerEdit stragglers = StragglerEdit::Keep;
  StragglerWork straggler_work = StragglerWork::Kernels;
  std::string straggler_kernels = "*";
  std::string straggler_operators = "*";
  std::vector<int> straggler_ranks;
  std::vector<std::vector<int>> straggler_stages;

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
    key.optional("collectives", edit.collectives, {}, "collectives by kind: compressed or quantised");
    key.optional("buckets", edit.buckets, std::nullopt,
                 "other buckets for the gradients of data-parallel training");
    key.optional("network", edit.network, std::nullopt,
                 "another network between the nodes of the machine, or so many times as fast, e.g. 2");
    key.optional("cluster", edit.cluster, std::nullopt,
                 "collectives on another machine, e.g. dgx_h100 x 2; kernels take what they took");
    describe_stragglers(key, edit);
  }
  void check() const;

 private:
  template <class Visitor>
  static void describe_stragglers(Visitor& key, WhatIfSpec& edit) {
    key.optional("stragglers", edit.stragglers, StragglerEdit::Keep,
                 "what all ranks do takes the median of the ranks' times, or the least");
    key.optional(
        "straggler_work", edit.straggler_work, StragglerWork::Kernels,
        "of the GPU (kernels), of the host (data loading, operators, calls, the start of the window), "
        "or both");
    key.optional("straggler_kernels", edit.straggler_kernels, "*",
                 "only kernels with this in their names, in any case, or of the family of that name; * "
                 "stands for anything");
    key.optional("straggler_operators", edit.straggler_operators, "*",
                 "only what the host does, or launches, within operators with this in their names");
    key.optional("straggler_ranks", edit.straggler_ranks, {}, "only of these ranks; empty: of all");
    key.optional("straggler_stages", edit.straggler_stages, {},
                 "ranks that do the same, e.g. [[0, 1], [2, 3]], the stages of a pipeline: each is compared "
                 "with its own stage, ranks of none stay as they are; empty: all ranks are one");
  }
};

/// One change, and what to call it.
struct NamedWhatIf {
  std::string name;
  WhatIfSpec edit;
};

/// Each change of @p edit alone, then, where there are several, all together.
[[nodiscard]] std::vector<NamedWhatIf> one_by_one(const WhatIfSpec& edit);

/// @p job with the change; apart from GPU and host speeds, which are factors of the simulation, other buckets
/// (rebucketed()) and other machines (ReplayRun). Programs keep
/// their instructions in place (those that are gone do nothing), so that what they stand for stays known.
/// @param origins of the programs' kernels, by program; empty: told by the kernels' names
[[nodiscard]] Job edited(const Job& job, const WhatIfSpec& edit, std::vector<KernelOrigins> origins = {});

}  // namespace lockstep::replay
