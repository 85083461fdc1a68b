#include "ops/workload/layers/fused_attention.hpp"

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

void views(StepWriter& step, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    step.op(name);
  }
}

void write_op(StepWriter& step, std::string_view name, const std::vector<KernelCall>& calls) {
  step.program().begin(name);
  for (const KernelCall& call : calls) {
    step.launch(call);
  }
  step.program().end();
}

FlashAttention flash_work(const AttentionShape& shape, Direction direction) {
  return {.batch = shape.batch,
          .heads = shape.heads,
          .queries = shape.sequence,
          .keys = shape.sequence,
          .head_size = shape.head_size,
          .causal = shape.causal(),
          .dropout = shape.drops_scores(),
          .direction = direction,
          .version = version_of(shape.kernels)};
}

/// The type that scaled_dot_product_attention computes in: what autocast makes of it, else the model's.
DataType fused_type(const StepWriter& step) {
  return is_mixed(step.precision()) ? product_type(step.precision()) : step.types().model();
}

/// Row sums of dO * O; the gradients, queries' accumulated in FP32; their conversion.
std::vector<KernelCall> flash_backward_calls(const AttentionShape& shape, DataType type) {
  const bool cudnn = shape.kernels == AttentionKernels::CuDnn;
  FlashAttention work = flash_work(shape, Direction::Backward);
  work.main_alone = true;
  return {{cudnn ? "compute_dot_do_o_specialized" : "flash_bwd_dot_do_o_kernel", type,
           Pointwise{.elements = shape.tokens(), .reads = 2, .writes = 0, .flops = 2}},
          {cudnn ? "cudnn_sdpa_flash_bprop" : "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", type, work},
          {cudnn ? "convert_dq_to_16bits" : "flash_bwd_convert_dq_kernel", type,
           Pointwise{.elements = shape.tokens(), .reads = 2, .writes = 1}}};
}

}  // namespace

std::vector<KernelCall> efficient_backward_calls(const FlashAttention& work, DataType type) {
  const std::int64_t rows = work.batch * work.heads * work.queries, elements = rows * work.head_size;
  const KernelCall zeros = kernels::fill(elements, DataType::FP32);
  const KernelCall gradients{"fmha_cutlassB", type, work};
  if (size_of(type) < size_of(DataType::FP32)) {
    return {zeros, gradients};
  }
  return {kernels::mul(elements, type),
          kernels::reduce("sum", {.rows = rows, .columns = work.head_size}, type),
          kernels::strided_copy(rows, type), zeros, gradients};
}

std::vector<KernelCall> with_padded_heads(std::vector<KernelCall> calls, const FlashAttention& work,
                                          std::int64_t kv_heads, bool is_pytorch) {
  constexpr std::int64_t kMultiple = 8;
  const bool is_padded = work.version == FlashVersion::Two || work.version == FlashVersion::Three;
  if (!is_padded || work.head_size % kMultiple == 0) {
    return calls;
  }
  const DataType type = calls.front().type;
  const std::int64_t wide = (work.head_size / kMultiple + 1) * kMultiple;
  const std::int64_t query_rows = work.batch * work.heads * work.queries;
  const std::int64_t key_rows = work.batch * kv_heads * work.keys;
  const auto copy_out = [&](std::int64_t rows) {
    calls.push_back(kernels::strided_copy(rows * work.head_size, type));
  };
  std::vector<KernelCall> before;
  const auto pad = [&](std::int64_t rows) {
    before.push_back(kernels::fill(rows * wide, type));
    before.push_back(kernels::strided_copy(rows * work.head_size, type));
  };
  pad(query_rows);  // backward, the gradient of the result
  if (work.direction == Direction::Forward) {
    pad(key_rows);
    pad(key_rows);
    copy_out(query_rows);
  } else if (is_pytorch) {
    copy_out(query_rows);
    copy_out(key_rows);
    copy_out(key_rows);
  }
  calls.insert(calls.begin(), before.begin(), before.end());
  return calls;
}

FlashVersion version_of(AttentionKernels kernels) {
  switch (kernels) {
    case AttentionKernels::Flash1:
      return FlashVersion::One;
    case AttentionKernels::Flash1Cuda:
      return FlashVersion::OneCuda;
    case AttentionKernels::Flash3:
      return FlashVersion::Three;
    case AttentionKernels::CuDnn:
      return FlashVersion::CuDnn;
    case AttentionKernels::Efficient:
      return FlashVersion::MemoryEfficient;
    case AttentionKernels::Flash:
    case AttentionKernels::Unfused:
      break;
  }
  return FlashVersion::Two;
}

void fused_attention_forward(StepWriter& step, const AttentionShape& shape) {
  const FlashAttention work = flash_work(shape, Direction::Forward);
  const DataType type = fused_type(step);
  std::vector<KernelCall> calls;
  if (shape.kernels == AttentionKernels::CuDnn && work.dropout) {
    calls.push_back(
        kernels::elementwise("unpack_cudnn", 1, DataType::INT64, {}));  // where random numbers go on
  }
  const char* const name = shape.kernels == AttentionKernels::CuDnn       ? "cudnn_sdpa_flash_fprop"
                           : shape.kernels == AttentionKernels::Efficient ? "fmha_cutlassF"
                                                                          : "flash_fwd_kernel";
  calls.push_back({name, type, work});
  write_op(step, "aten::scaled_dot_product_attention",
           with_padded_heads(std::move(calls), work, shape.heads, true));
  if (is_plain(shape.code)) {
    views(step, {"aten::transpose", "aten::flatten"});
  } else {
    views(step, {"aten::transpose", "aten::contiguous", "aten::view"});  // contiguous already
  }
}

void fused_attention_backward(StepWriter& step, const AttentionShape& shape) {
  views(step, {"ViewBackward0", "TransposeBackward0"});
  if (shape.kernels == AttentionKernels::Efficient) {
    write_op(step, "ScaledDotProductEfficientAttentionBackward0",
             efficient_backward_calls(flash_work(shape, Direction::Backward), fused_type(step)));
  } else {
    write_op(step,
             shape.kernels == AttentionKernels::CuDnn ? "ScaledDotProductCudnnAttentionBackward0"
                                                      : "ScaledDotProductFlashAttentionBackward0",
             with_padded_heads(flash_backward_calls(shape, fused_type(step)),
                               flash_work(shape, Direction::Backward), shape.heads, true));
  }
  views(step, {"TransposeBackward0", "ViewBackward0", "TransposeBackward0", "ViewBackward0",
               "TransposeBackward0", "ViewBackward0"});
}

}  // namespace lockstep
