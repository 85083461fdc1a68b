#include "ops/workload/layers/embedding_bag.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/lookup_pass.hpp"
#include "ops/workload/layers/torch_embedding_bag.hpp"

namespace lockstep {
namespace {

constexpr LookupPass kFill{"vectorized_elementwise_kernel<fill>", DataType::INT32, 0, 1};
constexpr LookupPass kAddOffsets{"elementwise_kernel<add>", DataType::INT64, 1, 1};

/// The lookup's kernel writes the features' type itself.
bool writes_features(const EmbeddingBagShape& bags) {
  return bags.kernels == EmbeddingKernels::Joint && bags.tables.size() == 1;
}

KernelCall bags_kernel(const EmbeddingBagShape& bags, std::size_t rank, Direction direction,
                       const char* name) {
  return {name, DataType::FP32,
          EmbeddingBags{.batch = bags.batch,
                        .tables = bags.tables[rank],
                        .direction = direction,
                        .optimizer = bags.dense ? Optimizer::Sgd : bags.optimizer,
                        .pooled = direction == Direction::Forward && writes_features(bags)
                                      ? std::optional{bags.features}
                                      : std::nullopt}};
}

bool is_in_cache(const EmbeddingTable& table) {
  return table.location == TableLocation::HostCached;
}

/// A pass over the rank's lookups.
void over_lookups(StepWriter& step, const EmbeddingBagShape& bags, const LookupPass& pass) {
  step.launch_by_rank(
      [&](std::size_t rank) { return pass_over(pass, bags.lookups(rank), bags.offsets(rank) - 1); });
}

/// A pass over the pooled rows of the rank, in elements of @p type.
void over_rows(StepWriter& step, const EmbeddingBagShape& bags, const char* name, DataType type, double reads,
               double writes, double instructions = 0) {
  step.launch_by_rank([&](std::size_t rank) {
    return KernelCall{name, type,
                      Pointwise{.elements = bags.batch * bags.width(rank),
                                .reads = reads,
                                .writes = writes,
                                .flops = 1,
                                .instructions = instructions}};
  });
}

/// Between the rows' FP32 and the features' type.
void cast_rows(StepWriter& step, const EmbeddingBagShape& bags, const char* op) {
  if (bags.features == DataType::FP32 || writes_features(bags)) {
    return;
  }
  const double narrow = size_of(bags.features) / size_of(DataType::FP32);
  const bool forward = std::string_view{op} == "aten::to";
  step.program().begin(op);
  over_rows(step, bags, "unrolled_elementwise_kernel<cast>", DataType::FP32, forward ? 1 : narrow,
            forward ? narrow : 1, kernels::kUnvectorised);
  step.program().end();
}

void joint_backward(StepWriter& step, const EmbeddingBagShape& bags) {
  over_lookups(step, bags, kAddOffsets);
  const double read = writes_features(bags) ? size_of(bags.features) / size_of(DataType::FP32) : 1;
  over_rows(step, bags, "gradient_copy_kernel", DataType::FP32, read, 1);
}

/// Sorts the lookups by row. One tile: one kernel; else a histogram and one kernel for each 8 bits of the
/// row number (cub::DeviceRadixSort, Merrill's onesweep).
void write_sort(StepWriter& step, const EmbeddingBagShape& bags) {
  constexpr std::int64_t kSingleTile = 4096;  // 256 threads x 16 items (CUB's tuning for 8-byte keys)
  std::int64_t most_lookups = 0;
  double most_rows = 1;
  for (std::size_t rank = 0; rank < bags.tables.size(); ++rank) {
    most_lookups = std::max(most_lookups, bags.lookups(rank));
    double rows = 0;
    for (const EmbeddingTable& table : bags.tables[rank]) {
      rows += static_cast<double>(table.rows);
    }
    most_rows = std::max(most_rows, rows);
  }
  if (most_lookups <= kSingleTile) {
    over_lookups(step, bags, lookup_pass::kSortSingleTile);
    return;
  }
  over_lookups(step, bags, lookup_pass::kSortHistogram);
  const int passes = std::max(1, static_cast<int>(std::ceil(std::log2(most_rows) / 8)));
  for (int pass = 0; pass < passes; ++pass) {
    over_lookups(step, bags, lookup_pass::kSortOnesweep);
  }
}

void populate_cache(StepWriter& step, const EmbeddingBagShape& bags) {
  over_lookups(step, bags, lookup_pass::kLinearizeCacheIndices);
  write_sort(step, bags);
  over_lookups(step, bags, lookup_pass::kReduceByKey);
  over_lookups(step, bags, lookup_pass::kFindUncached);
  write_sort(step, bags);
  step.launch_by_rank([&](std::size_t rank) {
    EmbeddingCacheInsert insert{.batch = bags.batch, .tables = {}};
    std::ranges::copy_if(bags.tables[rank], std::back_inserter(insert.tables), is_in_cache);
    return KernelCall{"lru_cache_insert_kernel", DataType::FP32, std::move(insert)};
  });
  over_lookups(step, bags, lookup_pass::kLookUpCache);
}

void fbgemm_backward(StepWriter& step, const EmbeddingBagShape& bags) {
  over_lookups(step, bags, lookup_pass::kLinearizeIndex);
  write_sort(step, bags);
  over_lookups(step, bags, kFill);
  step.launch(kernels::fill(1, DataType::INT32));
  step.launch({"DeviceCompactInitKernel", DataType::INT32, Pointwise{.elements = 1, .reads = 0}});
  over_lookups(step, bags, lookup_pass::kReduceByKey);
  over_lookups(step, bags, kFill);
  step.launch({"DeviceScanInitKernel", DataType::INT32, Pointwise{.elements = 1, .reads = 0}});
  over_lookups(step, bags, lookup_pass::kScan);
  over_lookups(step, bags, kFill);
  step.launch(kernels::fill(1, DataType::INT32));
  over_lookups(step, bags, lookup_pass::kFindLongSegments);
  // Rows with many lookups have a kernel of their own; it holds no work when the reuse is low, and the
  // whole update is charged to the other one.
  step.launch(
      {"split_embedding_backward_codegen_cta_per_row_kernel", DataType::INT32, Pointwise{.elements = 1}});
  step.launch_by_rank([&](std::size_t rank) {
    return bags_kernel(bags, rank, Direction::Backward,
                       bags.dense ? "split_embedding_backward_codegen_dense_warp_per_row_kernel"
                                  : "split_embedding_backward_codegen_warp_per_row_kernel");
  });
}

}  // namespace

std::int64_t EmbeddingBagShape::width(std::size_t rank) const {
  std::int64_t sum = 0;
  for (const EmbeddingTable& table : tables[rank]) {
    sum += table.dimension;
  }
  return sum;
}

std::int64_t EmbeddingBagShape::lookups(std::size_t rank) const {
  double sum = 0;
  for (const EmbeddingTable& table : tables[rank]) {
    sum += table.pooling_factor * static_cast<double>(batch);
  }
  return std::llround(sum);
}

std::vector<std::int64_t> EmbeddingBagShape::dense_parameters() const {
  if (!dense) {
    return {};
  }
  if (kernels != EmbeddingKernels::EmbeddingBag) {
    return {weights(0)};
  }
  std::vector<std::int64_t> parameters;
  for (const EmbeddingTable& table : tables.front()) {
    parameters.push_back(table.rows * table.dimension);
  }
  return parameters;
}

std::int64_t EmbeddingBagShape::gradient_values(std::size_t rank) const {
  double sum = 0;
  for (const EmbeddingTable& table : tables[rank]) {
    sum += table.pooling_factor * static_cast<double>(batch * table.dimension);
  }
  return std::llround(sum);
}

std::int64_t EmbeddingBagShape::offsets(std::size_t rank) const {
  return batch * static_cast<std::int64_t>(tables[rank].size()) + 1;
}

std::int64_t EmbeddingBagShape::weights(std::size_t rank) const {
  std::int64_t sum = 0;
  for (const EmbeddingTable& table : tables[rank]) {
    sum += table.rows * table.dimension;
  }
  return sum;
}

std::int64_t EmbeddingBagShape::weights_on_gpu(std::size_t rank) const {
  std::int64_t sum = 0;
  for (const EmbeddingTable& table : tables[rank]) {
    sum += table.location == TableLocation::Gpu ? table.rows * table.dimension : 0;
  }
  return sum;
}

std::int64_t EmbeddingBagShape::rows(std::size_t rank) const {
  std::int64_t sum = 0;
  for (const EmbeddingTable& table : tables[rank]) {
    sum += table.rows;
  }
  return sum;
}

EmbeddingBagShape::Cache EmbeddingBagShape::cache(std::size_t rank) const {
  constexpr std::int64_t kSet = 32;
  Cache cache;
  double places = 0;
  for (const EmbeddingTable& table : tables[rank]) {
    if (is_in_cache(table)) {
      places += table.cache_load_factor * static_cast<double>(table.rows);
      cache.width = std::max(cache.width, table.dimension);
      cache.rows += table.rows;
    }
  }
  cache.places = (static_cast<std::int64_t>(places) + kSet - 1) / kSet * kSet;
  return cache;
}

bool EmbeddingBagShape::is_cached() const {
  return std::ranges::any_of(tables,
                             [](const auto& of_rank) { return std::ranges::any_of(of_rank, is_in_cache); });
}

void embedding_bag_forward(StepWriter& step, const EmbeddingBagShape& bags) {
  if (bags.kernels == EmbeddingKernels::EmbeddingBag) {
    torch_bags_forward(step, bags);
    return;
  }
  const bool fbgemm = bags.kernels == EmbeddingKernels::Fbgemm;
  const bool joint = bags.kernels == EmbeddingKernels::Joint;
  step.program().begin("LookupFunction");
  if (joint && !writes_features(bags)) {
    over_lookups(step, bags, kAddOffsets);
  }
  if (fbgemm) {
    over_lookups(step, bags, lookup_pass::kCheckIndices);
  }
  if (bags.is_cached()) {
    populate_cache(step, bags);
  }
  const char* const name = joint        ? "joint_embedding_gather_kernel"
                           : !fbgemm    ? "batched_embedding_forward_kernel"
                           : bags.dense ? "dense_embedding_codegen_forward_unweighted_kernel"
                                        : "split_embedding_codegen_forward_unweighted_kernel";
  step.launch_by_rank([&](std::size_t rank) { return bags_kernel(bags, rank, Direction::Forward, name); });
  step.program().end();
  cast_rows(step, bags, "aten::to");
}

void embedding_bag_backward(StepWriter& step, const EmbeddingBagShape& bags) {
  if (bags.kernels == EmbeddingKernels::EmbeddingBag) {
    torch_bags_backward(step, bags);
    return;
  }
  cast_rows(step, bags, "ToCopyBackward0");
  step.program().begin("LookupFunctionBackward");
  if (bags.dense) {
    step.launch_by_rank([&](std::size_t rank) { return kernels::fill(bags.weights(rank), DataType::FP32); });
  }
  if (bags.kernels == EmbeddingKernels::Fbgemm) {
    fbgemm_backward(step, bags);
  } else if (bags.kernels == EmbeddingKernels::Joint) {
    joint_backward(step, bags);
  } else {
    step.launch_by_rank([&](std::size_t rank) {
      return bags_kernel(bags, rank, Direction::Backward, "batched_embedding_backward_sgd_kernel");
    });
  }
  step.program().end();
}

void embedding_bag_update(StepWriter& step, const EmbeddingBagShape& bags) {
  if (bags.kernels == EmbeddingKernels::EmbeddingBag) {
    torch_bags_update(step, bags);
    return;
  }
  if (bags.kernels != EmbeddingKernels::Joint) {
    return;
  }
  step.program().begin("Optimizer.step#SGD.step");
  over_lookups(step, bags, kAddOffsets);  // flatten_indices
  over_rows(step, bags, "vectorized_elementwise_kernel<mul>", DataType::FP32, 1, 1);
  step.launch_by_rank(
      [&](std::size_t rank) { return bags_kernel(bags, rank, Direction::Backward, "index_add_kernel"); });
  step.program().end();
}

void embedding_bag_unscale(StepWriter& step, const EmbeddingBagShape& bags) {
  if (!bags.has_sparse_gradients()) {
    return;
  }
  step.program().begin("aten::_amp_foreach_non_finite_check_and_unscale_");
  step.launch_by_rank([&](std::size_t rank) {
    return KernelCall{"multi_tensor_apply_kernel<non_finite_check_and_unscale>", DataType::FP32,
                      Pointwise{.elements = bags.gradient_values(rank), .reads = 1, .writes = 1, .flops = 1}};
  });
  step.program().end();
}

}  // namespace lockstep
