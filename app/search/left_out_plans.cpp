#include "app/search/left_out_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "app/search/divisions.hpp"
#include "ops/workload/dlrm.hpp"
#include "topology/host_memory.hpp"

namespace lockstep {
namespace {

const DlrmSpec& dlrm_of(const ShardingProblem& problem) {
  return *problem.setting().scenario.workload->model->dlrm;
}

bool every_host_says_its_memory(const Setting& setting) {
  const auto gpus = setting.fabric.gpus().first(setting.job.ranks.size());
  return std::ranges::all_of(gpus, [&](VertexId gpu) {
    return host_memory_of_node(setting.fabric, setting.fabric.vertices()[gpu].node).size > Bytes{0};
  });
}

/// What else could become of a table that fits on no GPU.
std::string other_places(const ShardingProblem& problem) {
  const std::string why_not = why_not_in_host_memory(problem);
  return fmt::format("{}{}",
                     problem.task().may_cut || is_hugectr(problem)
                         ? "cut it by rows (sharding: row_wise)"
                         : "bottom_mlp_placement: first_rank needs it whole",
                     why_not.empty() ? ", or keep it in host memory (kernel: fused_uvm_caching)"
                                     : "; it cannot be in host memory: " + why_not);
}

/// The first table that fits on no GPU, with what helps; "" where there is none.
std::string widest_table(const ShardingProblem& problem) {
  const sharding::Task& task = problem.task();
  const Bytes room = *std::ranges::max_element(task.capacity);
  for (std::size_t table = 0; table < task.tables.size(); ++table) {
    const EmbeddingTable& shape = task.tables[table].shape;
    std::int64_t columns = shape.dimension;
    while (task.can_halve(columns)) {
      columns /= 2;
    }
    const Bytes least = task.size_of(table, columns);
    if (least <= room) {
      continue;
    }
    const std::string cut =
        task.may_cut ? fmt::format(", not even cut to {} columns ({})", columns, least) : "";
    return fmt::format("table {} ({} rows of {} elements, {}) fits on no GPU{}: a GPU has {} for tables; {}",
                       table, shape.rows, shape.dimension, task.size_of(table, shape.dimension), cut, room,
                       other_places(problem));
  }
  return "";
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
  const Setting& setting = problem.setting();
  if (setting.scenario.memory.check_capacity && !every_host_says_its_memory(setting)) {
    return "the cluster's CPU sockets do not say how much 'memory' they have";
  }
  return "";
}

std::string why_nothing_fits(const ShardingProblem& problem) {
  if (std::string widest = widest_table(problem); !widest.empty()) {
    return widest;
  }
  const sharding::Task& task = problem.task();
  Bytes all, room;
  for (std::size_t table = 0; table < task.tables.size(); ++table) {
    all += task.size_of(table, task.tables[table].shape.dimension);
  }
  for (const Bytes capacity : task.capacity) {
    room += capacity;
  }
  const std::size_t places = task.places().size();
  if (all <= room) {
    return fmt::format(
        "the tables take {} of {} that the {} GPUs have for them, but in pieces too large to "
        "go in; a larger 'memory_share' or another GPU would do",
        all, room, places);
  }
  const auto gpus = static_cast<std::int64_t>(all / room * static_cast<double>(places)) + 1;
  const bool host = why_not_in_host_memory(problem).empty();
  return fmt::format("the tables take {}, the {} GPUs have {} for them: {} such GPUs{} would do", all, places,
                     room, gpus, host ? ", or tables in host memory (kernel: fused_uvm_caching)," : "");
}

}  // namespace lockstep
