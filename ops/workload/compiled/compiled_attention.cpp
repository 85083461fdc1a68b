// Attention of CompiledTransformer.
#include "ops/workload/compiled/compiled_transformer.hpp"
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

/// Queries, keys, values or their gradients in another layout.
void CompiledTransformer::copy_tokens(std::string_view what, int times) {
  for (int copy = 0; copy < times; ++copy) {
    step_.launch(triton::pointwise(what, block_.elements(), products_, {.flops = 0}));
  }
}

void CompiledTransformer::product_of_heads(const Gemm& gemm) {
  step_.launch(kernels::product(gemm, product_type(step_.precision())));
}

void CompiledTransformer::attention_forward() {
  has_fused_attention() ? fused_attention_forward() : unfused_forward();
}

void CompiledTransformer::attention_backward() {
  has_fused_attention() ? fused_attention_backward() : unfused_backward();
}

/// Makes operands contiguous where the pattern was found; where attention is called they are views.
void CompiledTransformer::fused_attention_forward() {
  if (block_.attention == AttentionKernels::Unfused) {
    copy_tokens("clone", 3);
  }
  const bool is_wide = products_ == DataType::FP32;
  const char* const narrow =
      block_.attention == AttentionKernels::CuDnn ? "cudnn_sdpa_flash_fprop" : "flash_fwd_kernel";
  step_.launch({is_wide ? "fmha_cutlassF_f32" : narrow, products_,
                fused_attention(block_, products_, Direction::Forward)});
}

void CompiledTransformer::fused_attention_backward() {
  const std::int64_t elements = block_.elements();
  const bool is_wide = products_ == DataType::FP32;
  const bool cudnn = block_.attention == AttentionKernels::CuDnn;
  const char* const sums = cudnn ? "compute_dot_do_o_specialized" : "flash_bwd_dot_do_o_kernel";
  const char* const narrow =
      cudnn ? "cudnn_sdpa_flash_bprop" : "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel";
  step_.launch({is_wide ? "reduce_kernel<sum>" : sums, products_,
                Pointwise{.elements = elements, .reads = 2, .writes = 0, .flops = 2}});
  step_.launch({is_wide ? "fmha_cutlassB_f32" : narrow, products_,
                fused_attention(block_, products_, Direction::Backward)});
  if (!is_wide) {
    step_.launch({cudnn ? "convert_dq_to_16bits" : "flash_bwd_convert_dq_kernel", products_,
                  Pointwise{.elements = elements, .reads = 2, .writes = 1}});
  }
  if (block_.packs_projections()) {
    step_.launch(triton::pointwise("cat", 3 * elements, products_, {.flops = 0}));
  }
}

void CompiledTransformer::unfused_forward() {
  const std::int64_t s = block_.sequence, d = block_.hidden / block_.heads,
                     many = block_.batch * block_.heads;
  const bool copies = block_.batch > 1;  // heads and samples are not adjacent
  copy_tokens("clone", copies ? 2 : 0);
  product_of_heads({.batch = many, .m = s, .n = s, .k = d, .transpose_b = true});
  const double kept =
      is_training_ && !step_.types().casts() ? 1 : 0;  // softmax's result, else that of the product
  const double dropped = spec_.dropout && is_training_ ? 1 + mask_part(products_) : 0;
  const double writes = kept + dropped > 0 ? kept + dropped : 1;
  step_.launch(triton::over_rows(
      "_softmax_div_where", Softmax{.rows = scores() / s, .columns = s, .fused = {1, writes, 2}}, products_));
  copy_tokens("clone", copies ? 1 : 0);
  product_of_heads({.batch = many, .m = s, .n = d, .k = s});
  copy_tokens("clone", 1);
}

void CompiledTransformer::unfused_backward() {
  const std::int64_t s = block_.sequence, d = block_.hidden / block_.heads,
                     many = block_.batch * block_.heads;
  const bool copies = block_.batch > 1;
  copy_tokens("clone", copies ? 1 : 0);
  product_of_heads({.batch = many, .m = s, .n = d, .k = s, .transpose_a = true});  // values
  product_of_heads({.batch = many, .m = s, .n = s, .k = d, .transpose_b = true});  // probabilities
  const double reads = 2 + mask_part(products_);
  step_.launch(triton::over_rows(
      "_softmax_backward_data_div_where",
      Softmax{
          .rows = scores() / s, .columns = s, .direction = Direction::Backward, .fused = {reads, 1, reads}},
      products_));
  product_of_heads({.batch = many, .m = d, .n = s, .k = s, .transpose_a = true});  // keys, transposed
  product_of_heads({.batch = many, .m = s, .n = d, .k = s});                       // queries
  if (is_bert()) {
    copy_tokens("clone", copies ? 3 : 0);
  } else {
    step_.launch(triton::pointwise("cat", 3 * block_.elements(), products_, {.flops = 0}));
  }
}

}  // namespace lockstep
