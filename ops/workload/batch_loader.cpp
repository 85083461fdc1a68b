#include "ops/workload/batch_loader.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "ops/kernels/host_traffic.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr const char* kBatchReady = "batch ready";

/// Ranks on the node that has most.
int most_ranks_of_a_node(const TrainingSetup& setup) {
  if (setup.gpu_nodes.empty()) {
    return static_cast<int>(setup.gpus.size());
  }
  std::map<int, int> ranks;
  int most = 0;
  for (const int node : setup.gpu_nodes) {
    most = std::max(most, ++ranks[node]);
  }
  return most;
}

}  // namespace

BatchLoader::BatchLoader(StepWriter& step, const TrainingSetup& setup, std::int64_t samples)
    : step_{step},
      spec_{setup.loader},
      interval_{setup.loader.interval(samples, most_ranks_of_a_node(setup))} {}

bool BatchLoader::has_workers() const {
  return spec_.workers > 0;
}

void BatchLoader::begin_step(int batches) {
  if (!has_workers()) {
    return;
  }
  ProgramBuilder& program = step_.program();
  const ThreadId process = program.current_thread();
  program.on(program.thread("loader"));
  for (int batch = 0; batch < batches; ++batch) {
    program.post(program.flag(kBatchReady));
    program.host_work(kPrepareBatch, interval_);
  }
  program.on(process);
}

void BatchLoader::next() {
  ProgramBuilder& program = step_.program();
  if (has_workers()) {
    program.await(program.flag(kBatchReady));
  }
  const Seconds own = spec_.time_per_batch + (has_workers() ? Seconds{0} : interval_);
  if (own > Seconds{0}) {
    program.host_work(kDataLoading, own);
  }
}

void BatchLoader::copy(const std::function<Bytes(std::size_t rank)>& size, Copy how) {
  const auto kernel = [&](std::size_t rank) { return kernels::copy_to_device(size(rank), spec_.pin_memory); };
  Bytes largest{0};
  for (std::size_t rank = 0; rank < step_.ranks(); ++rank) {
    largest = std::max(largest, size(rank));
  }
  if (how == Copy::Blocking || (!spec_.pin_memory && largest > kCopyInCommands)) {
    step_.blocking_copy("aten::to", kernel);
    return;
  }
  step_.program().begin("aten::to");
  step_.launch_by_rank(kernel);
  step_.program().end();
}

void BatchLoader::copy(Bytes size, Copy how) {
  copy([&](std::size_t) { return size; }, how);
}

}  // namespace lockstep
