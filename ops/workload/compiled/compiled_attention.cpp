#include "ops/workload/compiled/compiled_attention.hpp"
#include "ops/workload/compiled/triton_kernels.hpp"

namespace lockstep {
namespace {

FlashAttention fused_attention(const BlockShape& shape, DataType type, Direction direction) {
  return {.batch = shape.batch,
          .heads = shape.heads,
          .queries = shape.sequence,
          .keys = shape.sequence,
          .head_size = shape.hidden / shape.heads,
          .causal = shape.kind != BlockKind::Bert && shape.kind != BlockKind::Encoder,
          .dropout = shape.dropout,
          .direction = direction,
          .version = type == DataType::FP32 ? FlashVersion::MemoryEfficient : version_of(shape.attention)};
}

}  // namespace

bool CompiledAttention::is_fused() const {
  return shape_.block.attention != AttentionKernels::Unfused ||
         (shape_.is_bert() && !shape_.step.types().casts());
}

/// Queries, keys, values or their gradients in another layout.
void CompiledAttention::copy_tokens(std::string_view what, int times) {
  for (int copy = 0; copy < times; ++copy) {
    shape_.step.launch(triton::pointwise(what, shape_.block.elements(), shape_.products, {.flops = 0}));
  }
}

void CompiledAttention::product_of_heads(const Gemm& gemm) {
  shape_.step.launch(kernels::product(gemm, product_type(shape_.step.precision())));
}

/// Makes operands contiguous where the pattern was found; where attention is called they are views.
void CompiledAttention::fused_forward() {
  if (shape_.block.attention == AttentionKernels::Unfused) {
    copy_tokens("clone", 3);
  }
  const bool is_wide = shape_.products == DataType::FP32;
  const char* const narrow =
      shape_.block.attention == AttentionKernels::CuDnn ? "cudnn_sdpa_flash_fprop" : "flash_fwd_kernel";
  shape_.step.launch({is_wide ? "fmha_cutlassF_f32" : narrow, shape_.products,
                      fused_attention(shape_.block, shape_.products, Direction::Forward)});
}

void CompiledAttention::fused_backward() {
  const std::int64_t elements = shape_.block.elements();
  const bool is_wide = shape_.products == DataType::FP32;
  const bool cudnn = shape_.block.attention == AttentionKernels::CuDnn;
  const char* const sums = cudnn ? "compute_dot_do_o_specialized" : "flash_bwd_dot_do_o_kernel";
  const char* const narrow =
      cudnn ? "cudnn_sdpa_flash_bprop" : "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel";
  shape_.step.launch({is_wide ? "reduce_kernel<sum>" : sums, shape_.products,
                      Pointwise{.elements = elements, .reads = 2, .writes = 0, .flops = 2}});
  shape_.step.launch({is_wide ? "fmha_cutlassB_f32" : narrow, shape_.products,
                      fused_attention(shape_.block, shape_.products, Direction::Backward)});
  if (!is_wide) {
    shape_.step.launch({cudnn ? "convert_dq_to_16bits" : "flash_bwd_convert_dq_kernel", shape_.products,
                        Pointwise{.elements = elements, .reads = 2, .writes = 1}});
  }
  if (shape_.block.packs_projections()) {
    shape_.step.launch(triton::pointwise("cat", 3 * elements, shape_.products, {.flops = 0}));
  }
}

void CompiledAttention::unfused_forward() {
  const std::int64_t s = shape_.block.sequence, d = shape_.block.hidden / shape_.block.heads,
                     many = shape_.block.batch * shape_.block.heads;
  const bool copies = shape_.block.batch > 1;  // heads and samples are not adjacent
  copy_tokens("clone", copies ? 2 : 0);
  product_of_heads({.batch = many, .m = s, .n = s, .k = d, .transpose_b = true});
  const double kept = shape_.is_training && !shape_.step.types().casts()
                          ? 1
                          : 0;  // softmax's result, else that of the product
  const double dropped =
      shape_.spec.dropout && shape_.is_training ? 1 + shape_.mask_part(shape_.products) : 0;
  const double writes = kept + dropped > 0 ? kept + dropped : 1;
  shape_.step.launch(triton::over_rows("_softmax_div_where",
                                       Softmax{.rows = scores() / s, .columns = s, .fused = {1, writes, 2}},
                                       shape_.products));
  copy_tokens("clone", copies ? 1 : 0);
  product_of_heads({.batch = many, .m = s, .n = d, .k = s});
  copy_tokens("clone", 1);
}

void CompiledAttention::unfused_backward() {
  const std::int64_t s = shape_.block.sequence, d = shape_.block.hidden / shape_.block.heads,
                     many = shape_.block.batch * shape_.block.heads;
  const bool copies = shape_.block.batch > 1;
  copy_tokens("clone", copies ? 1 : 0);
  product_of_heads({.batch = many, .m = s, .n = d, .k = s, .transpose_a = true});  // values
  product_of_heads({.batch = many, .m = s, .n = s, .k = d, .transpose_b = true});  // probabilities
  const double reads = 2 + shape_.mask_part(shape_.products);
  shape_.step.launch(triton::over_rows(
      "_softmax_backward_data_div_where",
      Softmax{
          .rows = scores() / s, .columns = s, .direction = Direction::Backward, .fused = {reads, 1, reads}},
      shape_.products));
  product_of_heads({.batch = many, .m = d, .n = s, .k = s, .transpose_a = true});  // keys, transposed
  product_of_heads({.batch = many, .m = s, .n = d, .k = s});                       // queries
  if (shape_.is_bert()) {
    copy_tokens("clone", copies ? 3 : 0);
  } else {
    shape_.step.launch(triton::pointwise("cat", 3 * shape_.block.elements(), shape_.products, {.flops = 0}));
  }
}

}  // namespace lockstep
