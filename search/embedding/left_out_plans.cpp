#include "search/embedding/left_out_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "ops/workload/dlrm.hpp"
#include "search/embedding/divisions.hpp"
#include "topology/host_memory.hpp"

namespace lockstep {
namespace {

const DlrmSpec& dlrm_of(const ShardingProblem& problem) {
  return *problem.resolved().scenario.workload->model->dlrm;
}

bool every_host_says_its_memory(const ResolvedScenario& resolved) {
  const auto gpus = resolved.fabric.gpus().first(resolved.job.ranks.size());
  return std::ranges::all_of(gpus, [&](VertexId gpu) {
    return host_memory_of_node(resolved.fabric, resolved.fabric.vertices()[gpu].node).size > Bytes{0};
  });
}

}  // namespace

std::vector<std::string> left_out_plans(const ShardingProblem& problem) {
  std::vector<std::string> lines;
  if (!problem.task().may_cut && !is_hugectr(problem)) {
    lines.emplace_back(
        "cut and copied tables: bottom_mlp_placement: first_rank needs every table whole on one rank");
  }
  if (first_table_rank(dlrm_of(problem), problem.task().devices()) > 0) {
    lines.emplace_back(
        "tables on rank 0: it has the bottom MLP (bottom_mlp_placement: first_rank, more than 4 ranks)");
  }
  return lines;
}

std::string why_not_in_host_memory(const ShardingProblem& problem) {
  if (!problem.task().may_cut) {
    return "there the search cuts tables by rows";
  }
  if (dlrm_of(problem).embedding_kernels != EmbeddingKernels::Fbgemm) {
    return "that takes 'embedding_kernels: fbgemm'";
  }
  if (dlrm_of(problem).optimizer == DlrmOptimizer::Adagrad) {
    return "Adagrad's sums for each element have no model there; 'optimizer: rowwise_adagrad' has";
  }
  const ResolvedScenario& resolved = problem.resolved();
  if (resolved.scenario.memory.check_capacity && !every_host_says_its_memory(resolved)) {
    return "the cluster's CPU sockets do not say how much 'memory' they have";
  }
  return "";
}

}  // namespace lockstep
