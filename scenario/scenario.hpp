#pragma once

/// @file
/// A scenario as the user writes it (docs/scenario.md).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/jitter.hpp"
#include "base/named.hpp"
#include "base/parameters.hpp"
#include "base/yaml_node.hpp"
#include "ops/collectives/collective_settings.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/host_overhead.hpp"
#include "ops/workload/workload.hpp"
#include "scenario/campaign_spec.hpp"
#include "scenario/noise_spec.hpp"
#include "scenario/schedule_spec.hpp"
#include "topology/cluster_spec.hpp"
#include "topology/degrade.hpp"
#include "traces/chakra/chakra_spec.hpp"

namespace lockstep {

/// A rank that is slower (or faster) than its kind.
struct SlowRank {
  int rank = 0;
  double gpu = 1;
  double host = 1;

  template <class Visitor>
  static void describe(Visitor& key, SlowRank& slow) {
    key.required("rank", slow.rank, "counted from 0");
    key.optional("gpu", slow.gpu, 1, "factor on its kernels' durations, e.g. 1.2");
    key.optional("host", slow.host, 1, "factor on its host times");
  }
  void check() const;
};

/// Causes that make equal ranks unequal.
struct VariationSpec {
  std::uint64_t seed = 1;
  JitterSpec kernels;
  JitterSpec host;
  std::vector<SlowRank> slow_ranks;
  std::vector<LinkFault> links;
  std::vector<std::string> failed;
  std::vector<NoiseSpec> noise;

  template <class Visitor>
  static void describe(Visitor& key, VariationSpec& vary) {
    key.optional("seed", vary.seed, 1, "of all random draws");
    key.optional("kernels", vary.kernels, JitterSpec{}, "of kernel durations, e.g. lognormal 0.05");
    key.optional("host", vary.host, JitterSpec{},
                 "of host times, e.g. lognormal 0.3; measured: as the spread of the host's profile says");
    key.optional("slow_ranks", vary.slow_ranks, {}, "stragglers");
    key.optional("links", vary.links, {}, "degraded links");
    key.optional("failed", vary.failed, {},
                 "names or patterns of links, NICs and switches that have failed: traffic goes around them");
    key.optional("noise", vary.noise, {}, "what interrupts host threads: checkpoints, garbage collection");
  }
  void check() const;
};

enum class ScenarioEngine : std::uint8_t { RunAhead, S4u };
constexpr auto names_of(ScenarioEngine /*unused*/) {
  return std::to_array<EnumName<ScenarioEngine>>(
      {{ScenarioEngine::RunAhead, "run_ahead"}, {ScenarioEngine::S4u, "s4u"}});
}
enum class ScenarioNetwork : std::uint8_t { Shared, Flows, Alone };
constexpr auto names_of(ScenarioNetwork /*unused*/) {
  return std::to_array<EnumName<ScenarioNetwork>>({{ScenarioNetwork::Shared, "shared"},
                                                   {ScenarioNetwork::Flows, "flows"},
                                                   {ScenarioNetwork::Alone, "alone"}});
}

/// Whether ranks that are alike are simulated once.
enum class ScenarioFold : std::uint8_t { Auto, Off };
constexpr auto names_of(ScenarioFold /*unused*/) {
  return std::to_array<EnumName<ScenarioFold>>({{ScenarioFold::Auto, "auto"}, {ScenarioFold::Off, "off"}});
}

/// Contents of a GPU's memory besides what the job allocates, and the check whether it is enough.
struct MemorySpec {
  Bytes context{1024.0 * 1024 * 1024};
  double fragmentation = 0.05;
  bool check_capacity = true;

  template <class Visitor>
  static void describe(Visitor& key, MemorySpec& memory) {
    key.optional(
        "context", memory.context, Bytes{1024.0 * 1024 * 1024},
        "CUDA context, libraries and NCCL's buffers (a guess: 0.5 GiB of context on an A100, the rest "
        "for communicators)");
    key.optional("fragmentation", memory.fragmentation, 0.05,
                 "of what is allocated, lost to the caching allocator (a guess)");
    key.optional("check_capacity", memory.check_capacity, true,
                 "stop with exit code 4 when a rank needs more than its GPU has; false: go on");
  }
  void check() const;
};

struct ScenarioSpec {
  std::string name;
  Named<ClusterSpec> cluster;
  std::optional<Named<GpuSpec>> gpu;
  std::optional<Named<HostOverheads>> host;
  std::optional<WorkloadSpec> workload;
  std::optional<ChakraSpec> trace;
  ParallelismSpec parallelism;
  CollectiveSettings collectives;
  MemorySpec memory;
  int steps = 3;
  VariationSpec vary;
  std::optional<bool> interference;
  ScenarioEngine engine = ScenarioEngine::RunAhead;
  ScenarioNetwork network = ScenarioNetwork::Shared;
  ScenarioFold fold = ScenarioFold::Auto;
  std::optional<double> price_per_gpu_hour;
  std::optional<ScheduleSpec> schedule;
  std::optional<CampaignSpec> campaign;
  YamlNode matrix;  ///< points of a sweep (app/sweep/matrix.hpp); nothing for a single run

  template <class Visitor>
  static void describe(Visitor& key, ScenarioSpec& scenario) {
    key.required("name", scenario.name, "one line, printed with the result");
    key.required("cluster", scenario.cluster, "the machine, e.g. dgx_a100 x 2, or drawn in place");
    key.optional("gpu", scenario.gpu, std::nullopt, "one GPU model for all, in place of the cluster's");
    key.optional("host", scenario.host, std::nullopt,
                 "host overheads (configs/hosts); left out: those measured with the GPU's generation");
    key.optional("workload", scenario.workload, std::nullopt, "what is trained; or a trace");
    key.optional("trace", scenario.trace, std::nullopt, "execution traces to simulate; or a workload");
    key.optional("parallelism", scenario.parallelism, ParallelismSpec{}, "how it is spread over the GPUs");
    key.optional("collectives", scenario.collectives, CollectiveSettings{}, "how ranks communicate");
    key.optional("memory", scenario.memory, MemorySpec{}, "device memory besides what the job allocates");
    key.optional("steps", scenario.steps, 3, "training steps to simulate");
    key.optional("vary", scenario.vary, VariationSpec{},
                 "jitter, stragglers, noise, degraded and failed links");
    key.optional("interference", scenario.interference, std::nullopt,
                 "communication slows down kernels on the same GPU, which start and end step by step then; "
                 "left out: true for a workload, false for a trace, whose durations have it");
    key.optional("engine", scenario.engine, ScenarioEngine::RunAhead,
                 "run_ahead: actors that run ahead of SimGrid's clock; s4u: every host thread and stream a "
                 "SimGrid actor; results agree to the bit");
    key.optional("network", scenario.network, ScenarioNetwork::Shared,
                 "how transfers share links: max-min per collective, a flow per edge, or not at all");
    key.optional("fold", scenario.fold, ScenarioFold::Auto,
                 "auto: ranks that do the same at the same time are simulated once; results agree");
    key.optional("price_per_gpu_hour", scenario.price_per_gpu_hour, std::nullopt,
                 "in any currency, e.g. 2.5: gives the cost of a million tokens or samples");
    key.optional("schedule", scenario.schedule, std::nullopt,
                 "for lockstep schedule: phases in which the model is narrower, shallower or fed otherwise");
    key.optional("campaign", scenario.campaign, std::nullopt,
                 "for lockstep schedule: a whole training with its checkpoints and failures");
    key.optional(
        "matrix", scenario.matrix, YamlNode{},
        "for lockstep sweep: lists of values by key, e.g. { workload.global_batch: [64, 128] }, with "
        "include and exclude as GitHub Actions has them");
  }
  void check() const;

  /// The mapping of a scenario that @p key belongs in, for who has put it elsewhere.
  static std::optional<std::string> place_of(const std::string& key);

  /// Whether communication slows down kernels.
  [[nodiscard]] bool interferes() const { return interference.value_or(workload.has_value()); }
};

}  // namespace lockstep
