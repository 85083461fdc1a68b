#include "ops/workload/layers/switch_experts.hpp"

#include <algorithm>

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/linear.hpp"
#include "ops/workload/layers/nonzero.hpp"

namespace lockstep {
namespace {

constexpr DataType kIndex = DataType::INT64;
constexpr DataType kWide = DataType::FP32;  // SwitchTransformersConfig.router_dtype

KernelCall small(const char* name, std::int64_t elements, DataType type = kIndex) {
  return {name, type, Pointwise{.elements = elements}};
}

KernelCall along_experts(const char* what, const SwitchExpertsShape& shape, DataType type) {
  return kernels::reduce(what, {.rows = shape.rows(), .columns = shape.count}, type);
}

KernelCall softmax(const SwitchExpertsShape& shape, std::int64_t layers, Direction direction) {
  return {direction == Direction::Forward ? "softmax_warp_forward" : "softmax_warp_backward", kWide,
          Softmax{.rows = layers * shape.rows(), .columns = shape.count, .direction = direction}};
}

LinearShape router(const SwitchExpertsShape& shape) {
  return {.rows = shape.rows(), .in = shape.hidden, .out = shape.count, .bias = false};
}

void one_hot(StepWriter& step, std::int64_t rows, std::int64_t count) {
  step.op("aten::one_hot", {kernels::fill(rows * count, kIndex), small("_scatter_gather_kernel", rows)});
}

/// A running sum over a sample's tokens, a thread for each expert: each sum waits for the load before.
KernelCall running_sum(const SwitchExpertsShape& shape) {
  return {"tensor_kernel_scan_outer_dim", kIndex,
          Pointwise{.elements = shape.scores(), .chain = shape.sequence}};
}

void router_forward(StepWriter& step, const SwitchExpertsShape& shape) {
  if (shape.jitter) {
    step.op("aten::uniform_", {kernels::elementwise("uniform", shape.elements(), kWide, {.reads = 0})});
    step.op("aten::mul_", {kernels::mul(shape.elements(), kWide)});
  }
  linear_forward(step, router(shape), true);
  if (step.types().casts()) {
    step.op("aten::to", {kernels::cast(step, shape.scores(), storage_type(step.precision()), kWide)});
  }
  step.op("aten::softmax", {softmax(shape, 1, Direction::Forward)});
  step.op("aten::argmax", {along_experts("argmax", shape, kWide)});
  one_hot(step, shape.rows(), shape.count);
  step.op("aten::cumsum", {running_sum(shape)});
  step.op("aten::le", {small("vectorized_elementwise_kernel<compare>", shape.scores())});
  step.op("aten::mul", {kernels::elementwise("mul", shape.scores(), kIndex, {.reads = 1 + 1.0 / 8})});
  step.op("aten::max", {along_experts("max", shape, kWide)});
  step.op("aten::unsqueeze");
}

KernelCall move_rows(const char* name, const StepWriter& step, const SwitchExpertsShape& shape,
                     std::int64_t rows) {
  KernelCall call = kernels::by_offsets("index", rows * shape.hidden, step.types().model(), {});
  call.name = name;
  return call;
}

/// hidden_states[mask], or the same of a gradient.
void pick(StepWriter& step, const char* name, const SwitchExpertsShape& shape, std::int64_t found) {
  step.program().begin(name);
  nonzero(step, shape.rows(), found);
  if (found > 0) {
    step.launch(move_rows("index_elementwise_kernel<index>", step, shape, found));
  }
  step.program().end();
}

void cast_result(StepWriter& step, const char* name, const SwitchExpertsShape& shape, std::int64_t found,
                 bool widens) {
  if (step.types().casts() && found > 0) {
    const DataType narrow = storage_type(step.precision());
    step.op(name,
            {kernels::cast(step, found * shape.hidden, widens ? narrow : kWide, widens ? kWide : narrow)});
  }
}

void expert_forward(StepWriter& step, const SwitchExpertsShape& shape, std::int64_t index) {
  const std::int64_t found = shape.tokens_of(index);
  step.op("aten::select");
  step.op("aten::to", {kernels::by_offsets("copy", shape.rows(), kIndex, {.writes = 1.0 / 8})});
  pick(step, "aten::index", shape, found);
  if (found > 0) {
    t5_feed_forward_forward(step, shape.expert(index));
  } else {  // products of no rows launch nothing
    for (const char* const name : {"aten::linear", "aten::relu", "aten::linear"}) {
      step.op(name);
    }
  }
  cast_result(step, "aten::to", shape, found, true);
  step.program().begin("aten::index_put_");
  nonzero(step, shape.rows(), found);
  if (found > 0) {
    step.launch(move_rows("index_elementwise_kernel<index_put>", step, shape, found));
  }
  step.program().end();
}

/// grad.index_put(mask, zeros), and grad[mask].
void index_put_backward(StepWriter& step, const SwitchExpertsShape& shape, std::int64_t found) {
  const DataType type = step.types().model();
  step.program().begin("IndexPutBackward0");
  if (found > 0) {
    step.launch(kernels::fill(found * shape.hidden, type));
  }
  step.launch(kernels::copy_on_device(static_cast<double>(shape.elements()) * size_of(type)));
  nonzero(step, shape.rows(), found);
  if (found > 0) {
    step.launch(move_rows("index_elementwise_kernel<index_put>", step, shape, found));
  }
  nonzero(step, shape.rows(), found);
  if (found > 0) {
    step.launch(move_rows("index_elementwise_kernel<index>", step, shape, found));
  }
  step.program().end();
}

/// Zeros into which rows are added, in the order of their sorted linear indices.
void index_backward(StepWriter& step, const SwitchExpertsShape& shape, std::int64_t found) {
  step.program().begin("IndexBackward0");
  step.launch(kernels::fill(shape.elements(), step.types().model()));
  nonzero(step, shape.rows(), found);
  if (found > 0) {
    for (const char* const name : {"remainder", "mul", "remainder", "mul", "add", "div"}) {
      step.launch(kernels::elementwise(name, found, kIndex, {}));
    }
    step.launch(small("elementwise_kernel_with_index<arange>", found));
    step.launch(small("DeviceRadixSortSingleTileKernel", found));
    step.launch({"indexing_backward_kernel", step.types().model(),
                 Pointwise{.elements = found * shape.hidden, .reads = 2}});
  }
  step.program().end();
}

void expert_backward(StepWriter& step, const SwitchExpertsShape& shape, std::int64_t index,
                     GradientSink& gradients) {
  const std::int64_t found = shape.tokens_of(index);
  index_put_backward(step, shape, found);
  cast_result(step, "ToCopyBackward0", shape, found, false);
  if (found > 0) {
    t5_feed_forward_backward(step, shape.expert(index), gradients);
  } else {  // of no rows: a weight's gradient is zeros
    for (int weight = 0; weight < 2; ++weight) {
      const std::int64_t elements = shape.hidden * shape.width;
      step.op("MmBackward0", {kernels::fill(elements, step.types().model())});
      step.op("TBackward0");
      gradients.accumulate(elements);
    }
  }
  index_backward(step, shape, found);
}

}  // namespace

std::int64_t SwitchExpertsShape::tokens_of(std::int64_t expert) const {
  const std::int64_t sent = sequence / chosen + (expert < sequence % chosen ? 1 : 0);  // of a sample
  return expert < chosen ? batch * std::min(capacity, sent) : 0;
}

void switch_experts_forward(StepWriter& step, const SwitchExpertsShape& shape) {
  const DataType type = step.types().model();
  {
    const ModuleRange module{step, "router"};
    router_forward(step, shape);
  }
  step.op("aten::argmax", {along_experts("argmax", shape, kIndex)});
  step.op("aten::clone", {kernels::copy_on_device(static_cast<double>(shape.elements()) * size_of(type))});
  for (std::int64_t index = 0; index < shape.count; ++index) {
    expert_forward(step, shape, index);
  }
  step.op("aten::mul", {kernels::by_offsets("mul", shape.elements(), type, {})});
}

void switch_experts_backward(StepWriter& step, const SwitchExpertsShape& shape, GradientSink& gradients) {
  const DataType type = step.types().model();
  const auto add = [&] { step.op("aten::add_", {kernels::add(shape.elements(), type)}); };
  step.op("MulBackward0",
          {kernels::mul(shape.elements(), type), kernels::by_offsets("mul", shape.elements(), type, {})});
  step.op("aten::sum", {kernels::reduce("sum", {.rows = shape.rows(), .columns = shape.hidden}, type)});
  for (std::int64_t index = shape.count; index-- > 0;) {
    expert_backward(step, shape, index, gradients);
    if (index + 1 < shape.count) {
      add();
    }
  }
  step.op("CloneBackward0");
  add();
  step.op("UnsqueezeBackward0");
  step.op("MaxBackward0",
          {kernels::fill(shape.scores(), kWide), small("_scatter_gather_kernel", shape.rows())});
  step.op("SoftmaxBackward0", {kernels::mul(shape.scores(), kWide), softmax(shape, 1, Direction::Backward)});
  if (step.types().casts()) {
    step.op("ToCopyBackward0", {kernels::cast(step, shape.scores(), kWide, storage_type(step.precision()))});
  }
  step.op("aten::add_", {kernels::add(shape.scores(), kWide)});  // the losses' gradient of the scores
  linear_backward(step, router(shape), gradients, true, true);
  add();
  if (shape.jitter) {
    step.op("MulBackward0", {kernels::mul(shape.elements(), kWide)});
  }
}

void router_losses_forward(StepWriter& step, const SwitchExpertsShape& shape, std::int64_t layers) {
  const std::int64_t rows = layers * shape.rows(), scores = layers * shape.scores();
  const auto along = [&](const char* name, std::int64_t of, std::int64_t columns) {
    step.op(name, {kernels::reduce("reduce", {.rows = of, .columns = columns}, kWide)});
  };
  const auto over_tokens = [&](const char* name) {
    step.op(name,
            {kernels::reduce("mean", {.rows = rows, .columns = shape.count, .across_rows = true}, kWide)});
  };
  step.op("aten::cat", {kernels::concat(scores, layers, kWide)});
  step.op("aten::cat", {kernels::concat(rows, layers, kIndex)});
  step.program().begin("aten::logsumexp");
  step.launch(kernels::reduce("amax", {.rows = rows, .columns = shape.count}, kWide));
  for (const char* const name : {"abs", "eq", "masked_fill"}) {
    step.launch(kernels::elementwise(name, rows, kWide, {}));
  }
  step.launch(kernels::by_offsets("sub", scores, kWide, {}));
  step.launch(kernels::elementwise("exp", scores, kWide, {}));
  step.launch(kernels::reduce("sum", {.rows = rows, .columns = shape.count}, kWide));
  step.launch(kernels::elementwise("log", rows, kWide, {}));
  step.launch(kernels::add(rows, kWide));
  step.program().end();
  step.op("aten::pow", {kernels::elementwise("pow", rows, kWide, {})});
  along("aten::sum", 1, rows);
  step.op("aten::div", {kernels::scale(1, kWide)});
  step.op("aten::softmax", {softmax(shape, layers, Direction::Forward)});
  one_hot(step, rows, shape.count);
  along("aten::max", rows, shape.count);
  step.op("aten::to", {kernels::cast(step, scores, kIndex, kWide)});
  over_tokens("aten::mean");
  over_tokens("aten::mean");
  step.op("aten::mul", {kernels::mul(shape.batch * shape.count, kWide)});
  along("aten::mean", 1, shape.batch * shape.count);
  step.op("aten::mul", {kernels::scale(1, kWide)});
}

void router_losses_backward(StepWriter& step, const SwitchExpertsShape& shape, std::int64_t layers) {
  const std::int64_t rows = layers * shape.rows(), scores = layers * shape.scores();
  const std::int64_t means = shape.batch * shape.count;
  step.op("MulBackward0", {kernels::scale(1, kWide)});
  step.op("MeanBackward0", {kernels::scale(means, kWide)});
  step.op("MulBackward0", {kernels::mul(means, kWide)});
  step.op("MeanBackward1", {kernels::by_offsets("div", scores, kWide, {.reads = 0})});
  step.op("SoftmaxBackward0", {kernels::mul(scores, kWide), softmax(shape, layers, Direction::Backward)});
  step.op("DivBackward0", {kernels::scale(1, kWide)});
  step.op("SumBackward0");
  step.op("PowBackward0", {kernels::copy_on_device(static_cast<double>(rows) * size_of(kWide)),
                           kernels::scale(rows, kWide), kernels::mul(rows, kWide)});
  step.op("LogsumexpBackward0",
          {kernels::by_offsets("sub", scores, kWide, {}), kernels::elementwise("exp", scores, kWide, {}),
           kernels::by_offsets("mul", scores, kWide, {})});
  step.op("aten::add_", {kernels::add(scores, kWide)});
  step.op("CatBackward0");
}

}  // namespace lockstep
