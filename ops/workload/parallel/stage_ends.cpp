/// @file
/// What the first and the last stage have besides layers.

#include <numeric>

#include "ops/workload/compiled/compiled_graph.hpp"
#include "ops/workload/compiled/triton_kernels.hpp"
#include "ops/workload/layers/cross_entropy.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/token_embedding.hpp"
#include "ops/workload/parallel/llama_attention.hpp"
#include "ops/workload/parallel/rotary.hpp"
#include "ops/workload/parallel/sharded_linear.hpp"
#include "ops/workload/parallel/stage_writer.hpp"

namespace lockstep {
namespace {

/// A row of logits to one number.
KernelCall over_logits(const char* name, std::int64_t rows, std::int64_t columns) {
  return kernels::reduce(name, {.rows = rows, .columns = columns}, DataType::FP32);
}

}  // namespace

/// The first stage takes a micro-batch for its tokens, the last for the labels; one that is both, once.
void StageWriter::fetch(int chunk) {
  const bool for_tokens = plan_.is_first(stage_, chunk);
  const bool for_labels = plan_.is_last(stage_, chunk) && !has_embedding();
  if (for_tokens || for_labels) {
    loader_.next();
  }
}

void StageWriter::embedding_forward() {
  const ModuleRange module{step_, "embedding"};
  const LayerSizes& s = scope_.sizes;
  const Bytes tokens = static_cast<double>(s.batch * (s.queries + 1)) * size_of(DataType::INT64);
  loader_.copy(tokens, BatchLoader::Copy::NonBlocking);
  if (model_.attention_mask) {
    loader_.copy(static_cast<double>(s.tokens) * size_of(DataType::INT64), BatchLoader::Copy::NonBlocking);
  }
  step_.op("aten::embedding",
           {{"indexSelectLargeIndex", scope_.storage(),
             IndexSelect{.table_rows = vocabulary_share(), .picks = s.tokens, .columns = s.hidden}}});
  if (plan_.spec.tensor > 1) {  // tokens of other ranks' rows are set to zero
    step_.op("aten::masked_fill_",
             {kernels::elementwise("masked_fill", s.tokens * s.hidden, scope_.storage(), {})});
    reorder_tokens(scope_, s.tokens * s.hidden);
    scope_.communicate(
        plan_.spec.sequence_parallel ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, "tp",
        plan_.spec.tensor, scope_.bytes(s.tokens * s.hidden));
  }
  if (model_.position_encoding == PositionEncoding::Learned) {
    step_.op("aten::add", {kernels::elementwise("add", s.elements(), scope_.storage(), {.reads = 1})});
  }
  if (is_hugging_face_llama(scope_)) {
    hugging_face_masks(scope_);
    hugging_face_rotary_tables(scope_);
  }
  if (model_.dropout) {
    step_.op("aten::dropout",
             {{"fused_dropout_kernel_vec", scope_.storage(),
               Pointwise{.elements = s.elements(), .reads = 1, .writes = 1.5, .flops = 10}}});
  }
}

void StageWriter::embedding_backward() {
  const ModuleRange module{step_, "embedding"};
  const LayerSizes& s = scope_.sizes;
  if (model_.dropout) {
    step_.op("NativeDropoutBackward0", {kernels::elementwise("masked_scale", s.elements(), scope_.storage(),
                                                             {.reads = 1.5, .writes = 1, .flops = 2})});
  }
  if (plan_.spec.sequence_parallel) {
    scope_.communicate(CollectiveKind::AllGather, "tp", plan_.spec.tensor, scope_.bytes(s.tokens * s.hidden));
    reorder_tokens(scope_, s.tokens * s.hidden);
  }
  token_embedding_gradient(step_, {.rows = vocabulary_share(), .columns = s.hidden, .picks = s.tokens},
                           scope_.storage());
  if (model_.tied && has_head()) {
    step_.op("aten::add_", {kernels::add(vocabulary_share() * s.hidden, scope_.storage())});
  }
  gradients_.accumulate(vocabulary_share() * s.hidden, false);
  if (model_.position_encoding == PositionEncoding::Learned) {
    gradients_.accumulate(model_.positions * s.hidden, false);
  }
}

void StageWriter::head_forward() {
  const ModuleRange module{step_, "head"};
  norm_forward(scope_, scope_.sizes.rows, scope_.sizes.hidden);
  column_linear_forward(scope_, {.tokens = scope_.sizes.tokens,
                                 .in = scope_.sizes.hidden,
                                 .out = vocabulary_share(),
                                 .high_precision = true});
}

void StageWriter::head_backward(BackwardParts parts) {
  const ModuleRange module{step_, "head"};
  BackwardParts of_output = parts, of_norm = parts;
  of_output.weights = parts.weights && trains(part_of_output());
  of_norm.weights = parts.weights && trains(ModelPart::Head);
  const LayerSizes& s = scope_.sizes;
  if (parts.inputs && compiles_loss()) {
    step_.program().begin(kCompiledBackward);
    step_.launch(triton::online_softmax_gradient(s.tokens, vocabulary_share(), scope_.storage(), 0));
    step_.program().end();
  } else if (parts.inputs && is_llama(scope_)) {
    memory_.allocate(MemoryUse::Workspace, 2.0 * wide_logits());  // gradients of log-probabilities and logits
    eager_loss_backward();
    memory_.release(MemoryUse::Workspace, 2.0 * wide_logits());
    memory_.release(MemoryUse::Activations, wide_logits());
  } else if (parts.inputs && model_.fused_loss) {
    step_.op("SoftmaxCrossEntropyLossBackward",
             {kernels::elementwise("cunn_SoftMaxXEntropyBackward", s.tokens * vocabulary_share(),
                                   scope_.storage(), {.flops = 10})});
  } else if (parts.inputs) {
    step_.op("VocabParallelCrossEntropyBackward",
             {kernels::by_offsets("mul", s.tokens * vocabulary_share(), DataType::FP32, {}),
              kernels::cast(s.tokens * vocabulary_share(), DataType::FP32, scope_.storage())});
  }
  column_linear_backward(scope_,
                         {.tokens = s.tokens,
                          .in = s.hidden,
                          .out = vocabulary_share(),
                          .shares_weight = model_.tied && has_embedding(),
                          .high_precision = true},
                         of_output);
  norm_backward(scope_, s.rows, s.hidden, of_norm);
}

/// F.cross_entropy of all logits, cast to FP32; Hugging Face's are shifted against the tokens.
CrossEntropyShape StageWriter::eager_loss() const {
  const bool is_hugging_face = is_hugging_face_llama(scope_);
  const bool is_v5 = step_.framework().transformers == Transformers::V5;
  return {.batch = scope_.sizes.batch,
          .sequence = scope_.sizes.queries,
          .classes = vocabulary_share(),
          .shifted = is_hugging_face && model_.shifts_logits && !is_v5,
          .cast_first = true,
          .pads_labels = is_v5};
}

Bytes StageWriter::wide_logits() const {
  return size_of(DataType::FP32) * static_cast<double>(scope_.sizes.tokens * vocabulary_share());
}

/// Its input and result; of operators, the input in FP32, what the gain multiplies and the result.
Bytes StageWriter::kept_by_last_norm() const {
  const auto elements = static_cast<double>(scope_.sizes.elements());
  const Bytes fused = scope_.bytes(scope_.sizes.elements()) * 2.0;
  return is_llama(scope_) || model_.norm_kernels == NormKernels::Operators
             ? fused + size_of(DataType::FP32) * elements
             : fused;
}

/// Beside the log-probabilities, which backward reads, logits as the product left them, in FP32 and shifted.
void StageWriter::eager_loss_forward() {
  const CrossEntropyShape shape = eager_loss();
  const bool is_copied = shape.shifted && shape.batch > 1;
  const Bytes narrow = is_mixed(step_.precision()) ? wide_logits() / 2 : Bytes{0};
  const Bytes passing = narrow + wide_logits() * (is_copied ? 2.0 : 1.0);
  memory_.allocate(MemoryUse::Activations, wide_logits());
  memory_.allocate(MemoryUse::Workspace, passing);
  memory_.release(MemoryUse::Workspace, passing);
  if (plan_.spec.tensor == 1) {
    cross_entropy_forward(step_, eager_loss());
    return;
  }
  sharded_cross_entropy_forward(step_, eager_loss(), [&] {
    scope_.communicate(CollectiveKind::AllReduce, "tp", plan_.spec.tensor,
                       size_of(DataType::FP32) * static_cast<double>(scope_.sizes.tokens));
  });
}

void StageWriter::eager_loss_backward() {
  if (plan_.spec.tensor == 1) {
    cross_entropy_backward(step_, eager_loss());
  } else {
    sharded_cross_entropy_backward(step_, eager_loss());
  }
}

bool StageWriter::compiles_loss() const {
  return is_compiled(scope_) && step_.framework().compiled_loss == CompiledLoss::Recomputed;
}

void StageWriter::read_loss() {
  if (model_.loss_readback) {
    step_.blocking_copy("aten::item", kernels::copy_to_host(size_of(DataType::FP32), false));
  }
}

/// Vocabulary-parallel cross entropy (Megatron-LM core/tensor_parallel/cross_entropy.py): greatest logit,
/// that of the target, sum of exponentials, each reduced over the ranks.
void StageWriter::loss() {
  const ModuleRange module{step_, "loss"};
  if (compiles_loss()) {
    step_.program().begin(kCompiledRegion);
    step_.launch(triton::online_softmax(scope_.sizes.tokens, vocabulary_share(), scope_.storage()));
    step_.launch(triton::mean_of_picks(scope_.sizes.tokens));
    step_.program().end();
    read_loss();
    return;
  }
  if (is_llama(scope_)) {
    eager_loss_forward();
    read_loss();
    return;
  }
  const std::int64_t rows = scope_.sizes.tokens, columns = vocabulary_share();
  if (model_.fused_loss) {
    step_.op("SoftmaxCrossEntropyLoss",
             {kernels::reduce("cunn_SoftMaxXEntropyForward", {.rows = rows, .columns = columns},
                              scope_.storage())});
    read_loss();
    return;
  }
  const Bytes of_row = static_cast<double>(rows) * size_of(DataType::FP32);
  const auto reduce = [&] { scope_.communicate(CollectiveKind::AllReduce, "tp", plan_.spec.tensor, of_row); };
  step_.op("aten::to", {kernels::cast(rows * columns, scope_.storage(), DataType::FP32)});
  step_.op("aten::max", {over_logits("max", rows, columns)});
  reduce();
  step_.op("aten::sub_", {kernels::by_offsets("sub", rows * columns, DataType::FP32, {})});
  step_.op("aten::index",
           {{"index_elementwise_kernel", DataType::FP32, Pointwise{.elements = rows, .reads = 2}}});
  reduce();
  step_.op("aten::exp", {kernels::elementwise("exp", rows * columns, DataType::FP32, {.flops = 8})});
  step_.op("aten::sum", {over_logits("sum", rows, columns)});
  reduce();
  step_.op("aten::log", {kernels::elementwise("log", rows, DataType::FP32, {.flops = 8})});
  step_.op("aten::div_", {kernels::by_offsets("div", rows * columns, DataType::FP32, {})});
  read_loss();
}

}  // namespace lockstep
