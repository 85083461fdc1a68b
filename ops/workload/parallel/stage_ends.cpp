#include "ops/workload/parallel/stage_ends.hpp"

#include "ops/workload/compiled/compiled_graph.hpp"
#include "ops/workload/compiled/triton_kernels.hpp"
#include "ops/workload/layers/cross_entropy.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/token_embedding.hpp"
#include "ops/workload/parallel/llama_attention.hpp"
#include "ops/workload/parallel/rotary.hpp"
#include "ops/workload/parallel/sharded_linear.hpp"

namespace lockstep {
namespace {

/// A row of logits to one number.
KernelCall over_logits(const char* name, std::int64_t rows, std::int64_t columns) {
  return kernels::reduce(name, {.rows = rows, .columns = columns}, DataType::FP32);
}

}  // namespace

void StageEnds::begin_step() {
  if (stage_.has_tables()) {
    loader_.begin_step(scope_.plan.micro_batches);
  }
}

/// The first stage takes a micro-batch for its tokens, the last for the labels; one that is both, once.
void StageEnds::fetch(int chunk) {
  const bool for_tokens = stage_.is_first(chunk);
  const bool for_labels = stage_.is_last(chunk) && !stage_.has_embedding();
  if (for_tokens || for_labels) {
    loader_.next();
  }
}

void StageEnds::embedding_forward() {
  const ModuleRange module{scope_.step, "embedding"};
  const LayerSizes& s = scope_.sizes;
  const Bytes tokens = static_cast<double>(s.batch * (s.queries + 1)) * size_of(DataType::INT64);
  loader_.copy(tokens, BatchLoader::Copy::NonBlocking);
  if (scope_.model.attention_mask) {
    loader_.copy(static_cast<double>(s.tokens) * size_of(DataType::INT64), BatchLoader::Copy::NonBlocking);
  }
  scope_.step.op(
      "aten::embedding",
      {{"indexSelectLargeIndex", scope_.storage(),
        IndexSelect{.table_rows = stage_.vocabulary_share(), .picks = s.tokens, .columns = s.hidden}}});
  if (scope_.plan.spec.tensor > 1) {  // tokens of other ranks' rows are set to zero
    scope_.step.op("aten::masked_fill_",
                   {kernels::elementwise("masked_fill", s.tokens * s.hidden, scope_.storage(), {})});
    reorder_tokens(scope_, s.tokens * s.hidden);
    scope_.communicate(
        scope_.plan.spec.sequence_parallel ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, "tp",
        scope_.plan.spec.tensor, scope_.bytes(s.tokens * s.hidden));
  }
  if (scope_.model.position_encoding == PositionEncoding::Learned) {
    scope_.step.op("aten::add", {kernels::elementwise("add", s.elements(), scope_.storage(), {.reads = 1})});
  }
  if (is_hugging_face_llama(scope_)) {
    hugging_face_masks(scope_);
    hugging_face_rotary_tables(scope_);
  }
  if (scope_.model.dropout) {
    scope_.step.op("aten::dropout",
                   {{"fused_dropout_kernel_vec", scope_.storage(),
                     Pointwise{.elements = s.elements(), .reads = 1, .writes = 1.5, .flops = 10}}});
  }
}

void StageEnds::embedding_backward() {
  const ModuleRange module{scope_.step, "embedding"};
  const LayerSizes& s = scope_.sizes;
  if (scope_.model.dropout) {
    scope_.step.op("NativeDropoutBackward0",
                   {kernels::elementwise("masked_scale", s.elements(), scope_.storage(),
                                         {.reads = 1.5, .writes = 1, .flops = 2})});
  }
  if (scope_.plan.spec.sequence_parallel) {
    scope_.communicate(CollectiveKind::AllGather, "tp", scope_.plan.spec.tensor,
                       scope_.bytes(s.tokens * s.hidden));
    reorder_tokens(scope_, s.tokens * s.hidden);
  }
  token_embedding_gradient(scope_.step,
                           {.rows = stage_.vocabulary_share(), .columns = s.hidden, .picks = s.tokens},
                           scope_.storage());
  if (scope_.model.tied && stage_.has_head()) {
    scope_.step.op("aten::add_", {kernels::add(stage_.vocabulary_share() * s.hidden, scope_.storage())});
  }
  scope_.gradients.accumulate(stage_.vocabulary_share() * s.hidden, false);
  if (scope_.model.position_encoding == PositionEncoding::Learned) {
    scope_.gradients.accumulate(scope_.model.positions * s.hidden, false);
  }
}

void StageEnds::head_forward() {
  const ModuleRange module{scope_.step, "head"};
  norm_forward(scope_, scope_.sizes.rows, scope_.sizes.hidden);
  column_linear_forward(scope_, {.tokens = scope_.sizes.tokens,
                                 .in = scope_.sizes.hidden,
                                 .out = stage_.vocabulary_share(),
                                 .high_precision = true});
}

void StageEnds::head_backward(BackwardParts parts) {
  const ModuleRange module{scope_.step, "head"};
  BackwardParts of_output = parts, of_norm = parts;
  of_output.weights = parts.weights && stage_.trains(stage_.part_of_output());
  of_norm.weights = parts.weights && stage_.trains(ModelPart::Head);
  const LayerSizes& s = scope_.sizes;
  if (parts.inputs && compiles_loss()) {
    scope_.step.program().begin(kCompiledBackward);
    scope_.step.launch(
        triton::online_softmax_gradient(s.tokens, stage_.vocabulary_share(), scope_.storage(), 0));
    scope_.step.program().end();
  } else if (parts.inputs && is_llama(scope_)) {
    scope_.memory.allocate(MemoryUse::Workspace,
                           2.0 * wide_logits());  // gradients of log-probabilities and logits
    eager_loss_backward();
    scope_.memory.release(MemoryUse::Workspace, 2.0 * wide_logits());
    scope_.memory.release(MemoryUse::Activations, wide_logits());
  } else if (parts.inputs && scope_.model.fused_loss) {
    scope_.step.op("SoftmaxCrossEntropyLossBackward",
                   {kernels::elementwise("cunn_SoftMaxXEntropyBackward", s.tokens * stage_.vocabulary_share(),
                                         scope_.storage(), {.flops = 10})});
  } else if (parts.inputs) {
    scope_.step.op("VocabParallelCrossEntropyBackward",
                   {kernels::by_offsets("mul", s.tokens * stage_.vocabulary_share(), DataType::FP32, {}),
                    kernels::cast(s.tokens * stage_.vocabulary_share(), DataType::FP32, scope_.storage())});
  }
  column_linear_backward(scope_,
                         {.tokens = s.tokens,
                          .in = s.hidden,
                          .out = stage_.vocabulary_share(),
                          .shares_weight = scope_.model.tied && stage_.has_embedding(),
                          .high_precision = true},
                         of_output);
  norm_backward(scope_, s.rows, s.hidden, of_norm);
}

/// F.cross_entropy of all logits, cast to FP32; Hugging Face's are shifted against the tokens.
CrossEntropyShape StageEnds::eager_loss() const {
  const bool is_hugging_face = is_hugging_face_llama(scope_);
  const bool is_v5 = scope_.step.framework().transformers == Transformers::V5;
  return {.batch = scope_.sizes.batch,
          .sequence = scope_.sizes.queries,
          .classes = stage_.vocabulary_share(),
          .shifted = is_hugging_face && scope_.model.shifts_logits && !is_v5,
          .cast_first = true,
          .pads_labels = is_v5};
}

Bytes StageEnds::wide_logits() const {
  return size_of(DataType::FP32) * static_cast<double>(scope_.sizes.tokens * stage_.vocabulary_share());
}

/// Its input and result; of operators, the input in FP32, what the gain multiplies and the result.
Bytes StageEnds::kept_by_last_norm() const {
  const auto elements = static_cast<double>(scope_.sizes.elements());
  const Bytes fused = scope_.bytes(scope_.sizes.elements()) * 2.0;
  return is_llama(scope_) || scope_.model.norm_kernels == NormKernels::Operators
             ? fused + size_of(DataType::FP32) * elements
             : fused;
}

Bytes StageEnds::kept(int chunk) const {
  if (!stage_.is_last(chunk)) {
    return Bytes{0};
  }
  const Bytes logit = scope_.model.fused_loss || compiles_loss() ? size_of(scope_.storage()) : Bytes{4};
  const double new_tensor = is_eager(scope_) ? 2 : 1;  // and what is left of them there
  const double copies = has_eager_loss() ? 0 : new_tensor;
  return logit * static_cast<double>(scope_.sizes.tokens * stage_.vocabulary_share()) * copies +
         kept_by_last_norm();
}

/// Beside the log-probabilities, which backward reads, logits as the product left them, in FP32 and shifted.
void StageEnds::eager_loss_forward() {
  const CrossEntropyShape shape = eager_loss();
  const bool is_copied = shape.shifted && shape.batch > 1;
  const Bytes narrow = is_mixed(scope_.step.precision()) ? wide_logits() / 2 : Bytes{0};
  const Bytes passing = narrow + wide_logits() * (is_copied ? 2.0 : 1.0);
  scope_.memory.allocate(MemoryUse::Activations, wide_logits());
  scope_.memory.allocate(MemoryUse::Workspace, passing);
  scope_.memory.release(MemoryUse::Workspace, passing);
  if (scope_.plan.spec.tensor == 1) {
    cross_entropy_forward(scope_.step, eager_loss());
    return;
  }
  sharded_cross_entropy_forward(scope_.step, eager_loss(), [&] {
    scope_.communicate(CollectiveKind::AllReduce, "tp", scope_.plan.spec.tensor,
                       size_of(DataType::FP32) * static_cast<double>(scope_.sizes.tokens));
  });
}

void StageEnds::eager_loss_backward() {
  if (scope_.plan.spec.tensor == 1) {
    cross_entropy_backward(scope_.step, eager_loss());
  } else {
    sharded_cross_entropy_backward(scope_.step, eager_loss());
  }
}

bool StageEnds::compiles_loss() const {
  return is_compiled(scope_) && scope_.step.framework().compiled_loss == CompiledLoss::Recomputed;
}

void StageEnds::read_loss() {
  if (scope_.model.loss_readback) {
    scope_.step.blocking_copy("aten::item", kernels::copy_to_host(size_of(DataType::FP32), false));
  }
}

/// Vocabulary-parallel cross entropy (Megatron-LM core/tensor_parallel/cross_entropy.py): greatest logit,
/// that of the target, sum of exponentials, each reduced over the ranks.
void StageEnds::loss() {
  const ModuleRange module{scope_.step, "loss"};
  if (compiles_loss()) {
    scope_.step.program().begin(kCompiledRegion);
    scope_.step.launch(
        triton::online_softmax(scope_.sizes.tokens, stage_.vocabulary_share(), scope_.storage()));
    scope_.step.launch(triton::mean_of_picks(scope_.sizes.tokens));
    scope_.step.program().end();
    read_loss();
    return;
  }
  if (is_llama(scope_)) {
    eager_loss_forward();
    read_loss();
    return;
  }
  const std::int64_t rows = scope_.sizes.tokens, columns = stage_.vocabulary_share();
  if (scope_.model.fused_loss) {
    scope_.step.op("SoftmaxCrossEntropyLoss",
                   {kernels::reduce("cunn_SoftMaxXEntropyForward", {.rows = rows, .columns = columns},
                                    scope_.storage())});
    read_loss();
    return;
  }
  const Bytes of_row = static_cast<double>(rows) * size_of(DataType::FP32);
  const auto reduce = [&] {
    scope_.communicate(CollectiveKind::AllReduce, "tp", scope_.plan.spec.tensor, of_row);
  };
  scope_.step.op("aten::to", {kernels::cast(rows * columns, scope_.storage(), DataType::FP32)});
  scope_.step.op("aten::max", {over_logits("max", rows, columns)});
  reduce();
  scope_.step.op("aten::sub_", {kernels::by_offsets("sub", rows * columns, DataType::FP32, {})});
  scope_.step.op("aten::index",
                 {{"index_elementwise_kernel", DataType::FP32, Pointwise{.elements = rows, .reads = 2}}});
  reduce();
  scope_.step.op("aten::exp", {kernels::elementwise("exp", rows * columns, DataType::FP32, {.flops = 8})});
  scope_.step.op("aten::sum", {over_logits("sum", rows, columns)});
  reduce();
  scope_.step.op("aten::log", {kernels::elementwise("log", rows, DataType::FP32, {.flops = 8})});
  scope_.step.op("aten::div_", {kernels::by_offsets("div", rows * columns, DataType::FP32, {})});
  read_loss();
}

}  // namespace lockstep
