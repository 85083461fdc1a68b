#include "ops/workload/layers/torch_embedding_bag.hpp"

#include <cmath>

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

const std::vector<EmbeddingTable>& tables_of(const EmbeddingBagShape& bags) {
  return bags.tables.front();
}

KernelCall kernel(const EmbeddingBagShape& bags, const EmbeddingTable& table, Direction direction,
                  const char* name) {
  return {name, DataType::FP32,
          EmbeddingBags{
              .batch = bags.batch, .tables = {table}, .direction = direction, .optimizer = Optimizer::Sgd}};
}

KernelCall offsets(std::int64_t bags) {
  return {"elementwise_kernel_with_index<arange>", DataType::INT64, Pointwise{.elements = bags, .reads = 0}};
}

/// The gradient's values: of each look-up the row of its sample.
KernelCall values(const EmbeddingBagShape& bags, const EmbeddingTable& table) {
  return {"vectorized_gather_kernel", DataType::FP32,
          IndexSelect{.table_rows = bags.batch,
                      .picks = std::llround(table.pooling_factor * static_cast<double>(bags.batch)),
                      .columns = table.dimension}};
}

}  // namespace

void torch_bags_forward(StepWriter& step, const EmbeddingBagShape& bags) {
  for (const EmbeddingTable& table : tables_of(bags)) {
    step.op("aten::select");  // this table's indices or offsets, of all tables'
    if (bags.fixed) {
      step.op("aten::arange", {offsets(bags.batch)});
      step.op("aten::reshape");
    }
    step.op("aten::embedding_bag",
            {kernel(bags, table, Direction::Forward, "EmbeddingBag_updateOutputKernel_sum_mean")});
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
    step.op("EmbeddingBagBackward0", {values(bags, table)});
    step.op("torch::autograd::AccumulateGrad#sparse");
  }
}

void torch_bags_update(StepWriter& step, const EmbeddingBagShape& bags) {
  for (const EmbeddingTable& table : tables_of(bags)) {
    step.op("aten::add_#sparse", {kernel(bags, table, Direction::Backward, "indexFuncLargeIndex<add>")});
  }
}

}  // namespace lockstep
