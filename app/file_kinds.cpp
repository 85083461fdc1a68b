#include "app/file_kinds.hpp"

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "calibration/validation_set.hpp"
#include "ops/collectives/collective_profile.hpp"
#include "ops/host_overhead.hpp"
#include "ops/workload/embedding_plan.hpp"
#include "ops/workload/model_spec.hpp"
#include "scenario/replay_spec.hpp"
#include "scenario/scenario_file.hpp"
#include "topology/cluster_spec.hpp"
#include "topology/gpu_spec.hpp"
#include "topology/kernel_efficiency.hpp"
#include "topology/learned_kernels.hpp"
#include "topology/link_spec.hpp"
#include "topology/network_fabric.hpp"
#include "traces/kernels/kernel_families.hpp"

namespace lockstep {

const std::vector<FileKind>& file_kinds() {
  static const std::vector<FileKind> kinds{
      {"scenario", "a scenario", type_of<ScenarioSpec>},
      {"clusters", "a cluster of machines", type_of<ClusterSpec>},
      {"nodes", "a machine with GPUs", type_of<NodeSpec>},
      {"links", "a kind of link", type_of<LinkSpec>},
      {"fabrics", "how NCCL sends between nodes", type_of<NetworkFabric>},
      {"gpus", "a GPU model", type_of<GpuSpec>},
      {"kernel_efficiency", "how close kernels come to a GPU's peaks", type_of<KernelEfficiency>},
      {"learned_kernels", "networks that time kernels of a GPU model", type_of<LearnedKernels>},
      {"hosts", "what the host spends around kernel launches", type_of<HostOverheads>},
      {"models", "a model to be trained", type_of<ModelSpec>},
      {"plans", "where the embedding tables of a model go", type_of<EmbeddingPlan>},
      {"validation", "measured training steps to compare predictions with", type_of<ValidationSet>},
      {"profiles", "what collectives cost on a machine", type_of<CollectiveProfile>},
      {"kernel_families", "which kernels of a trace do what", type_of<KernelFamilyList>},
      {"replays", "changes to recorded traces (lockstep replay)", type_of<ReplaySpec>},
  };
  return kinds;
}

const FileKind& file_kind(const std::string& command, const std::string& kind) {
  std::vector<std::string> known;
  for (const FileKind& row : file_kinds()) {
    if (row.kind == kind || row.kind + "s" == kind) {
      return row;
    }
    known.push_back(row.kind);
  }
  throw InputError{{command}, "there is no kind of file '" + kind + "'" + did_you_mean(kind, known)};
}

}  // namespace lockstep
