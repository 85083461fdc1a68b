#include "ops/workload/layers/transformer_block.hpp"

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/layer_norm.hpp"
#include "ops/workload/layers/linear.hpp"

namespace lockstep {
namespace {

LinearShape linear(const BlockShape& shape, std::int64_t in, std::int64_t out) {
  return {.rows = shape.rows(),
          .in = in,
          .out = out,
          .bias = true,
          .weight_is_transposed = shape.kind != BlockKind::Gpt,
          .in_views = shape.is_plain()};
}

AttentionCode attention_code_of(BlockKind kind) {
  switch (kind) {
    case BlockKind::Gpt:
      return AttentionCode::Gpt2;
    case BlockKind::Bert:
      return AttentionCode::Bert;
    case BlockKind::Opt:
      return AttentionCode::Opt;
    case BlockKind::Decoder:
      return AttentionCode::Decoder;
    case BlockKind::Encoder:
      return AttentionCode::Encoder;
  }
  return AttentionCode::Gpt2;
}

AttentionShape attention_of(const BlockShape& shape) {
  return {.batch = shape.batch,
          .sequence = shape.sequence,
          .heads = shape.heads,
          .head_size = shape.hidden / shape.heads,
          .code = attention_code_of(shape.kind),
          .dropout = shape.dropout,
          .kernels = shape.attention,
          .padding_mask = shape.attention_mask};
}

bool gelu_result_is_wide(StepWriter& step, const BlockShape& shape) {
  return shape.kind != BlockKind::Opt && gelu_result_type(shape.gelu, step.types()) == DataType::FP32;
}

/// How far a block is computed.
enum class BlockPass : std::uint8_t { Whole, UntilKept };

/// Recomputes what backward reads of a projection back to the residual stream.
void output_again(StepWriter& step, const BlockShape& shape, std::int64_t in, bool cast_input) {
  if (shape.dropout) {
    linear_forward(step, linear(shape, in, shape.hidden), cast_input);
    dropout_forward(step, shape.elements(), storage_type(step.precision()));
  } else {
    linear_casts_forward(step, linear(shape, in, shape.hidden), cast_input);
  }
}

/// A projection back to the residual stream: product, dropout, sum.
void output_forward(StepWriter& step, const BlockShape& shape, std::int64_t in, bool cast_input) {
  linear_forward(step, linear(shape, in, shape.hidden), cast_input);
  if (shape.dropout) {
    dropout_forward(step, shape.elements(), storage_type(step.precision()));
  }
  residual_add_forward(step, shape.elements());
}

void output_backward(StepWriter& step, const BlockShape& shape, std::int64_t in, bool cast_input,
                     GradientSink& gradients) {
  residual_add_backward(step, shape.elements());
  if (shape.dropout) {
    dropout_backward(step, shape.elements(), storage_type(step.precision()));
  }
  linear_backward(step, linear(shape, in, shape.hidden), gradients, true, cast_input);
}

void projections_forward(StepWriter& step, const BlockShape& shape) {
  if (shape.packs_projections()) {
    linear_forward(step, linear(shape, shape.hidden, 3 * shape.hidden), true);
    return;
  }
  for (int projection = 0; projection < 3; ++projection) {
    linear_forward(step, linear(shape, shape.hidden, shape.hidden), true);
  }
}

void projections_backward(StepWriter& step, const BlockShape& shape, GradientSink& gradients,
                          bool input_gradient) {
  if (shape.packs_projections()) {
    linear_backward(step, linear(shape, shape.hidden, 3 * shape.hidden), gradients, input_gradient, true);
    if (!shape.normalises_first() && input_gradient) {  // to the residual stream's gradient
      step.op("aten::add_", {kernels::add(shape.elements(), step.types().model())});
    }
    return;
  }
  for (int projection = 0; projection < 3; ++projection) {  // each adds to the residual stream's gradient
    linear_backward(step, linear(shape, shape.hidden, shape.hidden), gradients, input_gradient, true);
    if (input_gradient && (shape.kind == BlockKind::Bert ||
                           projection > 0)) {  // OPT's sum of three goes through the norm first
      step.op("aten::add_", {kernels::add(shape.elements(), step.types().model())});
    }
  }
}

/// Between the two products of feed-forward.
void activation_forward(StepWriter& step, const BlockShape& shape) {
  const std::int64_t elements = shape.rows() * shape.feed_forward;
  if (shape.kind == BlockKind::Opt) {
    step.op("aten::relu", {kernels::elementwise("relu", elements, storage_type(step.precision()), {})});
  } else {
    gelu_forward(step, shape.gelu, elements);
  }
}

void activation_backward(StepWriter& step, const BlockShape& shape) {
  const std::int64_t elements = shape.rows() * shape.feed_forward;
  if (shape.kind == BlockKind::Opt) {
    step.op("ReluBackward0", {kernels::elementwise("threshold_backward", elements,
                                                   storage_type(step.precision()), {.reads = 2})});
  } else {
    gelu_backward(step, shape.gelu, elements);
  }
}

void feed_forward_forward(StepWriter& step, const BlockShape& shape, BlockPass pass) {
  linear_forward(step, linear(shape, shape.hidden, shape.feed_forward), true);
  activation_forward(step, shape);
  const auto output = pass == BlockPass::Whole ? output_forward : output_again;
  output(step, shape, shape.feed_forward, gelu_result_is_wide(step, shape));
}

void feed_forward_backward(StepWriter& step, const BlockShape& shape, GradientSink& gradients) {
  output_backward(step, shape, shape.feed_forward, gelu_result_is_wide(step, shape), gradients);
  activation_backward(step, shape);
  linear_backward(step, linear(shape, shape.hidden, shape.feed_forward), gradients, true, true);
}

}  // namespace

void residual_add_forward(StepWriter& step, std::int64_t elements) {
  const DataType stream = step.types().model();
  if (!step.types().casts()) {
    step.op("aten::add", {kernels::add(elements, stream)});
    return;
  }
  const double other = size_of(storage_type(step.precision())) / size_of(stream);
  step.op("aten::add", {kernels::of_two_types("add", elements, stream, {.reads = 1 + other})});
}

void residual_add_backward(StepWriter& step, std::int64_t elements) {
  if (step.types().casts()) {
    step.op("AddBackward0", {kernels::cast(step, elements, DataType::FP32, storage_type(step.precision()))});
  } else {
    step.op("AddBackward0");
  }
}

namespace {

void block_pass(StepWriter& step, const BlockShape& shape, BlockPass pass) {
  const bool first = shape.normalises_first();
  const auto normalise = [&] { layer_norm_forward(step, shape.rows(), shape.hidden); };
  {
    const ModuleRange module{step, "attention"};
    if (first) {
      normalise();
    }
    projections_forward(step, shape);
    attention_forward(step, attention_of(shape));
    output_forward(step, shape, shape.hidden, false);
    if (!first) {
      normalise();
    }
  }
  const ModuleRange module{step, "mlp"};
  if (first) {
    normalise();
  }
  feed_forward_forward(step, shape, pass);
  if (!first) {
    normalise();
  }
}

}  // namespace

void block_forward(StepWriter& step, const BlockShape& shape) {
  block_pass(step, shape, BlockPass::Whole);
}

void block_forward_again(StepWriter& step, const BlockShape& shape) {
  block_pass(step, shape, shape.normalises_first() ? BlockPass::UntilKept : BlockPass::Whole);
}

void block_backward(StepWriter& step, const BlockShape& shape, GradientSink& gradients, bool input_gradient) {
  const bool first = shape.normalises_first();
  const auto normalise = [&](int others) {
    layer_norm_backward(step, shape.rows(), shape.hidden, gradients, others);
  };
  if (!first) {
    normalise(0);
  }
  feed_forward_backward(step, shape, gradients);
  if (first) {
    normalise(1);
  } else {
    step.op("aten::add_", {kernels::add(shape.elements(), step.types().model())});  // the residual's gradient
    normalise(0);
  }
  output_backward(step, shape, shape.hidden, false, gradients);
  attention_backward(step, attention_of(shape));
  projections_backward(step, shape, gradients, first || input_gradient);
  if (first && input_gradient) {
    normalise(1);
  } else if (first) {
    layer_norm_parameters_backward(step, shape.rows(), shape.hidden, gradients);
  }
}

std::vector<std::int64_t> parameters_of(const BlockShape& shape) {
  const std::int64_t h = shape.hidden, f = shape.feed_forward;
  if (shape.is_plain()) {
    return {h, h, h, h, h * 3 * h, 3 * h, h * h, h, h * f, f, f * h, h};
  }
  if (shape.kind == BlockKind::Gpt) {
    return {h, h, h * 3 * h, 3 * h, h * h, h, h, h, h * f, f, f * h, h};
  }
  return {h * h, h, h * h, h, h * h, h, h * h, h, h, h, h * f, f, f * h, h, h, h};
}

}  // namespace lockstep
