#include "ops/workload/layers/torch_embedding_bag.hpp"

#include <cmath>

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/embedding_gradient.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

const std::vector<EmbeddingTable>& tables_of(const EmbeddingBagShape& bags) {
  return bags.tables.front();
}

// EmbeddingBag_updateOutputKernel_sum_mean: see the header.
constexpr std::int64_t kChunk = 32, kChunksAtATime = 8192;  // columns; blocks of eight warps
constexpr std::int64_t kLoadsOfAChunk = 20;
constexpr double kInstructions = 50;

}  // namespace

KernelCall kernels::bag_offsets(std::int64_t bags) {
  return {"elementwise_kernel_with_index<arange>", DataType::INT64, Pointwise{.elements = bags, .reads = 0}};
}

KernelCall kernels::bag_look_up(std::int64_t batch, const EmbeddingTable& table) {
  const auto chunks = batch * ((table.dimension + kChunk - 1) / kChunk);
  const auto elements = std::llround(table.pooling_factor * static_cast<double>(batch * table.dimension));
  return {"EmbeddingBag_updateOutputKernel_sum_mean", DataType::FP32,
          Pointwise{.elements = elements,
                    .writes = 1 / table.pooling_factor,
                    .instructions = kInstructions,
                    .chain = (chunks + kChunksAtATime - 1) / kChunksAtATime * kLoadsOfAChunk}};
}

KernelCall kernels::bag_gradient(std::int64_t batch, const EmbeddingTable& table) {
  return {"vectorized_gather_kernel", DataType::FP32,
          IndexSelect{.table_rows = batch,
                      .picks = std::llround(table.pooling_factor * static_cast<double>(batch)),
                      .columns = table.dimension,
                      .block_per_row = true}};
}

KernelCall kernels::bag_update(std::int64_t batch, const EmbeddingTable& table) {
  return index_add(std::llround(table.pooling_factor * static_cast<double>(batch * table.dimension)),
                   DataType::FP32);
}

std::vector<KernelCall> kernels::bag_dense_gradient(std::int64_t batch, const EmbeddingTable& table) {
  const auto picks = std::llround(table.pooling_factor * static_cast<double>(batch));
  std::vector<KernelCall> calls{strided_copy(batch * table.dimension, DataType::FP32)};
  const auto append = [&](std::vector<KernelCall> more) {
    calls.insert(calls.end(), more.begin(), more.end());
  };
  append(sort_picks(picks));
  calls.push_back(fill(table.rows * table.dimension, DataType::FP32));
  append(find_sorted_rows(picks));
  append(add_sorted_rows(picks, table.dimension, DataType::FP32));
  return calls;
}

void torch_bags_forward(StepWriter& step, const EmbeddingBagShape& bags) {
  for (const EmbeddingTable& table : tables_of(bags)) {
    step.op("aten::select");  // this table's indices or offsets, of all tables'
    if (bags.fixed) {
      step.op("aten::arange", {kernels::bag_offsets(bags.batch)});
      step.op("aten::reshape");
    }
    step.op("aten::embedding_bag", {kernels::bag_look_up(bags.batch, table)});
  }
  for (const EmbeddingTable& table : tables_of(bags)) {
    if (bags.features != DataType::FP32) {
      step.op("aten::to", {kernels::cast(step, bags.batch * table.dimension, DataType::FP32, bags.features)});
    }
  }
}

void torch_bags_backward(StepWriter& step, const EmbeddingBagShape& bags) {
  for (const EmbeddingTable& table : tables_of(bags)) {
    if (bags.features != DataType::FP32) {
      step.op("ToCopyBackward0",
              {kernels::cast(step, bags.batch * table.dimension, bags.features, DataType::FP32)});
    }
    if (bags.dense) {
      step.program().begin("EmbeddingBagBackward0");
      for (const KernelCall& kernel : kernels::bag_dense_gradient(bags.batch, table)) {
        step.launch(kernel);
      }
      step.program().end();
      continue;
    }
    step.op("EmbeddingBagBackward0", {kernels::bag_gradient(bags.batch, table)});
    step.op("torch::autograd::AccumulateGrad#sparse");
  }
}

void torch_bags_update(StepWriter& step, const EmbeddingBagShape& bags) {
  if (bags.dense) {
    return;  // the optimizer's, as any other parameter
  }
  for (const EmbeddingTable& table : tables_of(bags)) {
    step.op("aten::add_#sparse", {kernels::bag_update(bags.batch, table)});
  }
}

}  // namespace lockstep
