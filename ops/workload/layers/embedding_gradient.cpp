#include "ops/workload/layers/embedding_gradient.hpp"

#include "ops/workload/layers/sorting.hpp"

namespace lockstep::kernels {
namespace {

constexpr std::int64_t kPicksAtATime = 32;
constexpr std::int64_t kLoadsForThem = 13;   // of 200 clocks (PointwiseModel): 1.3 us with two barriers
constexpr double kInstructionsOfASum = 175;  // two divisions of 64 bits, loads that wait for each other
constexpr DataType kPick = DataType::INT64, kSum = DataType::FP32;

KernelCall over_picks(const char* name, std::int64_t picks, double reads, double writes) {
  return {name, kPick, Pointwise{.elements = picks, .reads = reads, .writes = writes, .flops = 1}};
}

}  // namespace

KernelCall add_picked_rows(std::int64_t picks, std::int64_t columns, DataType type) {
  return {"embedding_backward_feature_kernel", type,
          Pointwise{.elements = picks * columns,
                    .reads = 2,
                    .chain = (picks + kPicksAtATime - 1) / kPicksAtATime * kLoadsForThem}};
}

std::vector<KernelCall> sort_picks(std::int64_t picks) {
  constexpr int kBits = 64;
  std::vector<KernelCall> sort{over_picks("elementwise_kernel_with_index<arange>", picks, 0, 1)};
  const std::vector<KernelCall> passes = radix_sort_pairs(picks, kPick, kBits);
  sort.insert(sort.end(), passes.begin(), passes.end());
  return sort;
}

std::vector<KernelCall> find_sorted_rows(std::int64_t picks) {
  return {over_picks("DeviceCompactInitKernel", 1, 0, 1),
          over_picks("DeviceUniqueByKeySweepKernel", picks, 1, 1)};
}

std::vector<KernelCall> add_sorted_rows(std::int64_t picks, std::int64_t columns, DataType type) {
  const double sum = size_of(kSum) / size_of(type);
  const auto over_elements = [&](const char* name, double reads, double writes) {
    return KernelCall{name, type,
                      Pointwise{.elements = picks * columns,
                                .reads = reads,
                                .writes = writes,
                                .instructions = kInstructionsOfASum}};
  };
  return {over_picks("krn_partials_per_segment", picks, 1, 1),
          over_picks("DeviceScanInitKernel", 1, 0, 1),
          over_picks("DeviceScanKernel", picks, 1, 1),
          over_picks("compute_num_of_partial_segments", 1, 2, 1),
          over_picks("krn_partial_segment_offset", picks, 3, 1),
          over_elements("compute_grad_weight", 1, sum),
          over_elements("sum_and_scatter", sum, 1)};
}

}  // namespace lockstep::kernels
