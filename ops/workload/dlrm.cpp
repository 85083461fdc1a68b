#include "ops/workload/dlrm.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "ops/workload/dlrm_step.hpp"

namespace lockstep {
namespace {

void check_setup(const DlrmSpec& spec, const TrainingSetup& setup) {
  const auto ranks = static_cast<std::int64_t>(setup.gpus.size());
  if (setup.global_batch < ranks || setup.global_batch % ranks != 0) {
    throw std::invalid_argument{
        fmt::format("global_batch {} cannot be divided evenly among {} GPUs", setup.global_batch, ranks)};
  }
  if (static_cast<std::int64_t>(spec.all_tables().size()) < ranks) {
    throw std::invalid_argument{
        fmt::format("{} embedding tables cannot be placed table-wise on {} GPUs: each needs one",
                    spec.all_tables().size(), ranks)};
  }
  if (is_mixed(setup.precision)) {
    throw std::invalid_argument{"a DLRM is trained in fp32 or tf32"};
  }
}

/// Bytes of a table's element, optimizer state included: Adagrad keeps one FP32 sum for each weight.
Bytes bytes_per_element(DlrmOptimizer optimizer) {
  return (optimizer == DlrmOptimizer::Adagrad ? 2.0 : 1.0) * size_of(DataType::FP32);
}

std::vector<std::vector<EmbeddingTable>> placed_tables(const DlrmSpec& spec, const TrainingSetup& setup) {
  const EmbeddingPlanSpec& plan = setup.parallelism.embedding;
  std::vector<Bytes> capacity;
  for (const Bytes memory : setup.gpu_memory) {
    capacity.push_back(plan.respect_memory ? plan.memory_share * memory
                                           : Bytes{std::numeric_limits<double>::infinity()});
  }
  const std::vector<EmbeddingTable> tables = spec.all_tables();
  const TablePlacement placement =
      place_tables(tables, capacity, plan.planner, bytes_per_element(spec.optimizer));
  std::vector<std::vector<EmbeddingTable>> by_rank;
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    if (placement[rank].empty()) {
      throw std::invalid_argument{fmt::format("the embedding planner leaves GPU {} without a table", rank)};
    }
    std::vector<EmbeddingTable>& mine = by_rank.emplace_back();
    for (const std::size_t table : placement[rank]) {
      mine.push_back(tables[table]);
    }
  }
  return by_rank;
}

}  // namespace

Job dlrm_job(const DlrmSpec& spec, const TrainingSetup& setup) {
  check_setup(spec, setup);
  StepWriter step{setup.host, setup.gpus.size(), setup.framework, setup.precision};
  DlrmStep{step, spec, setup, placed_tables(spec, setup)}.write();
  return std::move(step).finish(setup.gpus);
}

}  // namespace lockstep
