#pragma once

/// @file
/// The blocks of torchtitan's Llama behind torch.compile, each a graph of its own (`apply_compile` in
/// torchtitan's parallelize.py); embedding, last norm, head and loss stay eager (eager_llama.hpp), the loss
/// only where `compiled_loss` says so.
///
/// * Products and attention are the libraries'. What is element-wise between two of them is one Triton kernel
///   that reads each input once; norms along rows take their neighbours in; gains' gradients are kernels of
///   their own.
/// * A value that no library call reads is not written but recomputed by each kernel that needs it, as
///   long as that reads at most four buffers (torch/_inductor/config.py, realize_reads_threshold): the sum
///   behind attention, which the norm and the last sum read, is none.
/// * Rotations stay eager: Inductor generates no code for complex numbers, so that queries and keys are cast
///   to FP32, multiplied by PyTorch's own kernel and cast back, keys by the kernel that repeats their heads.
/// * Backward's graph begins with what is recomputed. The partitioner keeps what `recompute` says, and
///   without it what products and attention leave, from which inputs of products are made again.
///
/// With `precision: fp8` products of blocks are FP8 with one scale a tensor, taken from the tensor itself
/// (torchao's `tensorwise` recipe): of each operand one kernel finds the greatest magnitude and another
/// casts, once for all products that share it. FP8 products read rows of one operand and columns of the
/// other: what is read both ways is cast both ways by one kernel, which reads its inputs twice (1.4 TB/s of
/// what it has to move where the others reach 2.2, pytorch/pytorch issue 133242). Backward's input gradients
/// read weights by columns, which a kernel copies. Weights are cast before they are gathered, a share each
/// (`enable_fsdp_float8_all_gather`), by scales that are found behind the optimizer
/// (`precompute_float8_dynamic_scale_for_fsdp`).
///
/// With `tensor` above 1 modules communicate as llama_tensor_parallel.hpp says; an operand travels in the
/// type of its products, and all ranks share its greatest magnitude. With `tensor_overlap` (asynchronous
/// tensor parallelism) gathers before products and sums behind them go in pieces (tensor_pieces.hpp), whose
/// copies engines make; a kernel adds up what came. Sums of several products' gradients are none of a product
/// and stay whole (torch/_inductor/fx_passes/micro_pipeline_tp.py; torch.ops.symm_mem.fused_all_gather_matmul
/// and fused_matmul_reduce_scatter, and those for scaled products). *Assumes* that pieces find their SMs.
///
/// *Source*: torchtitan/parallelisms/parallelize_llama.py and models/llama3/infra/parallelize.py; torchao
/// float8/{float8_linear,float8_ops,fsdp_utils}.py, testing/float8/roofline_utils.py (the kernels of a cast);
/// *assumes* that greatest magnitudes are kept where operators are recomputed one by one (torchtitan's list
/// of what is saved has aten.max since 2025), and found again with full recomputation.

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

void compiled_llama_forward(const LayerScope& scope);
/// Writes backward, with what `parts.recompute` leaves to be recomputed.
void compiled_llama_backward(const LayerScope& scope, BackwardParts parts);

/// Bytes that a block keeps for backward.
[[nodiscard]] Bytes kept_by_compiled_llama(const LayerScope& scope, Recompute recompute);

/// Parameters of a block, each of which has guards that a call checks.
inline constexpr std::size_t kParametersOfLlamaBlock = 9;

}  // namespace lockstep
