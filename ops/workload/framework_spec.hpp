#pragma once

#include <array>

#include "base/parameters.hpp"

namespace lockstep {

/// How torch.optim writes a step.
enum class OptimizerStyle : std::uint8_t {
  PerTensor,    ///< every arithmetic operation for every parameter: the only one before PyTorch 1.9
  MultiTensor,  ///< `foreach`: every operation for many parameters at once; the default since PyTorch 2.0
  Fused,        ///< `fused=True`: all operations for many parameters at once
};

constexpr auto names_of(OptimizerStyle) {
  return std::to_array<EnumName<OptimizerStyle>>({{OptimizerStyle::PerTensor, "per_tensor"},
                                                  {OptimizerStyle::MultiTensor, "multi_tensor"},
                                                  {OptimizerStyle::Fused, "fused"}});
}

/// How the model is run.
enum class Compile : std::uint8_t {
  None,      ///< eager: operator by operator
  Inductor,  ///< torch.compile(model), mode "default": Triton kernels by TorchInductor, launched from Python
  CudaGraphs,  ///< torch.compile(model, mode="reduce-overhead"): the same kernels in a CUDA graph each way
};

constexpr auto names_of(Compile) {
  return std::to_array<EnumName<Compile>>(
      {{Compile::None, "none"}, {Compile::Inductor, "inductor"}, {Compile::CudaGraphs, "cuda_graphs"}});
}

/// Tensors that torch.compile's backward of the loss reads.
enum class CompiledLoss : std::uint8_t {
  Stored,      ///< the log-softmax, in FP32 (PyTorch up to 2.2)
  Recomputed,  ///< the logits once more, with the maximum and the sum of each row (PyTorch 2.7)
  Eager,       ///< the loss is not compiled (torchtitan until 2025)
};

constexpr auto names_of(CompiledLoss) {
  return std::to_array<EnumName<CompiledLoss>>({{CompiledLoss::Stored, "stored"},
                                                {CompiledLoss::Recomputed, "recomputed"},
                                                {CompiledLoss::Eager, "eager"}});
}

/// Backward of nn.Embedding by the release that brought it (aten/src/ATen/native/cuda/Embedding.cu). Few
/// lookups are added row by row; more are sorted first, and then thrust::unique_by_key_copy tells the host
/// how many different rows there are, for which it waits.
/// *Source*: PyTorch's pull requests 49913 (January 2021: 3,072 lookups in place of 768) and 70943 (March
/// 2022: the device keeps the number, with CUDA 11.6 and later).
enum class EmbeddingBackward : std::uint8_t {
  PyTorch17,   ///< from 769 lookups on sorted and waited for
  PyTorch18,   ///< from 3,073
  PyTorch112,  ///< from 3,073 sorted, without a wait
};

constexpr auto names_of(EmbeddingBackward) {
  return std::to_array<EnumName<EmbeddingBackward>>({{EmbeddingBackward::PyTorch17, "pytorch_1.7"},
                                                     {EmbeddingBackward::PyTorch18, "pytorch_1.8"},
                                                     {EmbeddingBackward::PyTorch112, "pytorch_1.12"}});
}

/// The release of Hugging Face's transformers whose code a model is.
enum class Transformers : std::uint8_t {
  V4,  ///< 4.38 (early 2024)
  V5,  ///< 5.17 (2026)
};

constexpr auto names_of(Transformers) {
  return std::to_array<EnumName<Transformers>>({{Transformers::V4, "v4"}, {Transformers::V5, "v5"}});
}

/// Whether the loop calls torch.cuda.empty_cache(), behind which cudaMalloc is called for all that is kept.
enum class EmptyCache : std::uint8_t {
  Never,
  BetweenSteps,  ///< as benchmarks do: the device is waited for, cudaFree's calls are not timed
  EachStep,      ///< as the last thing of a step: the device is waited for, segments are freed one by one
};

constexpr auto names_of(EmptyCache) {
  return std::to_array<EnumName<EmptyCache>>({{EmptyCache::Never, "never"},
                                              {EmptyCache::BetweenSteps, "between_steps"},
                                              {EmptyCache::EachStep, "each_step"}});
}

/// The source of the scale of a tensor that Transformer Engine casts to FP8
/// (ops/workload/parallel/fp8.hpp).
enum class Fp8Scaling : std::uint8_t {
  Delayed,  ///< the greatest magnitudes of steps before (recipe.DelayedScaling)
  Current,  ///< its own greatest magnitude (recipe.Float8CurrentScaling)
};

constexpr auto names_of(Fp8Scaling) {
  return std::to_array<EnumName<Fp8Scaling>>(
      {{Fp8Scaling::Delayed, "delayed"}, {Fp8Scaling::Current, "current"}});
}

/// Differences between PyTorch versions, as far as kernels and copies change. Defaults: PyTorch 2.
struct FrameworkSpec {
  bool bias_in_gemm = true;
  bool zero_gradients = false;
  bool gradient_as_bucket_view = false;
  bool broadcast_buffers = true;
  bool no_sync = true, synchronize = false;
  OptimizerStyle optimizer = OptimizerStyle::MultiTensor;
  bool clip_reads_norm = false;
  EmbeddingBackward embedding_backward = EmbeddingBackward::PyTorch112;
  bool apex = false;
  bool vectorized_casts = false;
  bool wide_pools = true;
  bool slices_whole_dimensions = true;
  Compile compile = Compile::None;
  CompiledLoss compiled_loss = CompiledLoss::Recomputed;
  EmptyCache empty_cache = EmptyCache::Never;
  Fp8Scaling fp8_scaling = Fp8Scaling::Delayed;
  bool fp8_parameters = false;
  Transformers transformers = Transformers::V4;

  /// Describes the keys that change operators and kernels.
  template <class Visitor>
  static void describe_operators(Visitor& key, FrameworkSpec& framework) {
    key.optional("clip_reads_norm", framework.clip_reads_norm, false,
                 "torch.nn.utils.clip_grad_norm_ lets the host read whether gradients are to be clipped, and "
                 "does not clip them (before PyTorch 1.10)");
    key.optional(
        "vectorized_casts", framework.vectorized_casts, false,
        "FP32 becomes 16 bits by vectors of elements (PyTorch 2.6 and later), not element by element; "
        "operators that are not compiled, of Hugging Face's and eager Llamas, DLRMs, convolutional networks");
    key.optional("wide_pools", framework.wide_pools, true,
                 "average pools of convolutional networks divide by sizes of 64 bits (PyTorch 1.13 and "
                 "later), not of 32");
    key.optional("slices_whole_dimensions", framework.slices_whole_dimensions, true,
                 "x[:, i, j] slices all of x first, an operator whose backward pass fills and copies a "
                 "tensor as large "
                 "(traces of PyTorch 1.10 and 2.1); else it takes x itself (2.11); the interaction of DLRMs, "
                 "shifted logits, XLNet's shifted scores");
    key.optional(
        "embedding_backward", framework.embedding_backward, EmbeddingBackward::PyTorch112,
        "of nn.Embedding: the host waits for the number of different rows before PyTorch 1.12 (and with "
        "CUDA before 11.6) where more than 3,072 are looked up; before 1.8 where more than 768 are");
    key.optional(
        "apex", framework.apex, false,
        "NVIDIA Apex in place of PyTorch's own DistributedDataParallel (flat buckets of 'bucket', averaged "
        "behind the all-reduce), clipping (the host reads the norm), layer normalisation (FusedLayerNorm) "
        "and 16-bit training (amp's O2: every backward pass is added to FP32 gradients, the host reads "
        "whether it overflowed)");
    key.optional(
        "compile", framework.compile, Compile::None,
        "torch.compile of the model (not of the optimizer): inductor fuses element-wise operators and "
        "reductions into Triton kernels; cuda_graphs (mode 'reduce-overhead') launches them as one graph; "
        "GPT-2 and BERT with 'implementation: hugging_face' or 'pytorch', and (inductor) each block of "
        "'implementation: torchtitan'");
    key.optional(
        "compiled_loss", framework.compiled_loss, CompiledLoss::Recomputed,
        "compile: what backward of the loss reads: its log-softmax, stored in FP32 (PyTorch up to "
        "2.2), or the logits, from which it is recomputed (2.7); eager: what is compiled is "
        "torchtitan's blocks (until 2025), or a model of 'implementation: pytorch', without the loss");
    key.optional(
        "empty_cache", framework.empty_cache, EmptyCache::Never,
        "torch.cuda.empty_cache(), behind which the host calls cudaMalloc for what a step keeps: "
        "'each_step' as its last call, timed with it, 'between_steps' behind it, where nothing is timed; "
        "transformers with 'implementation: hugging_face', encoder-decoders and XLNet only");
    key.optional(
        "transformers", framework.transformers, Transformers::V4,
        "whose code a model of Hugging Face's is: transformers' of early 2024 (v4: 4.38), or (v5: 5.17) with "
        "one mask for all layers, in FP32, made only where one is needed; scores scaled by an operator; "
        "a loss of logits in FP32 against shifted labels; a wait for whether samples are packed; T5 by "
        "scaled_dot_product_attention; XLNet's distances made by the GPU");
    key.optional(
        "fp8_scaling", framework.fp8_scaling, Fp8Scaling::Delayed,
        "'precision: fp8' with 'implementation: megatron': the scale of a cast tensor is by the magnitudes "
        "of steps before, or (current) by its own, which a kernel finds before the cast, of each expert's "
        "tokens for itself (Megatron-LM --fp8-recipe tensorwise, NeMo's FP8-CS)");
    key.optional(
        "fp8_parameters", framework.fp8_parameters, false,
        "'precision: fp8' with 'implementation: megatron': weights of FP8 products are kept in FP8 alone, "
        "without a copy in 16 bits, and zero1 gathers them so (Megatron-LM --fp8-param-gather, NeMo's "
        "fp8_params)");
  }

  template <class Visitor>
  static void describe(Visitor& key, FrameworkSpec& framework) {
    key.optional(
        "bias_in_gemm", framework.bias_in_gemm, true,
        "addmm adds the bias in the product's epilogue (cublasLt, since PyTorch 1.12); else a copy kernel "
        "of the bias precedes the product");
    key.optional(
        "zero_gradients", framework.zero_gradients, false,
        "zero_grad fills gradients and backward adds to them (before PyTorch 2.0); else they are dropped");
    key.optional("gradient_as_bucket_view", framework.gradient_as_bucket_view, false,
                 "DDP: gradients live in their buckets, so that none is copied back after the all-reduce");
    key.optional(
        "broadcast_buffers", framework.broadcast_buffers, true,
        "DDP: rank 0's buffers (averages of batch norms, GPT-2's causal masks) go to all ranks before "
        "a step's first forward pass; convolutional networks and transformers with "
        "'implementation: hugging_face'");
    key.optional(
        "no_sync", framework.no_sync, true,
        "DDP with gradient_accumulation: only the last micro-batch's backward pass reduces gradients "
        "(no_sync(), Accelerate's accumulate(), the Trainer); else each does; transformers with "
        "'implementation: hugging_face', encoder-decoders and XLNet");
    key.optional("synchronize", framework.synchronize, false,
                 "the loop calls torch.cuda.synchronize() behind every micro-batch, as those do that time "
                 "each; transformers with 'implementation: hugging_face', encoder-decoders and XLNet");
    key.optional("optimizer", framework.optimizer, OptimizerStyle::MultiTensor,
                 "how torch.optim launches a step");
    describe_operators(key, framework);
  }

  void check() const {
    if (apex && gradient_as_bucket_view) {
      throw FieldError{"gradient_as_bucket_view",
                       "Apex's DistributedDataParallel copies gradients into its buckets and back"};
    }
    if (compile != Compile::None && (apex || !bias_in_gemm)) {
      throw FieldError{"compile",
                       "torch.compile is PyTorch 2: it has 'bias_in_gemm: true' and no 'apex: true'"};
    }
    if (compile == Compile::None && compiled_loss != CompiledLoss::Recomputed) {
      throw FieldError{"compiled_loss", "is of torch.compile: it needs 'compile: inductor' or 'cuda_graphs'"};
    }
    if (empty_cache != EmptyCache::Never && compile == Compile::CudaGraphs) {
      throw FieldError{"empty_cache",
                       "a CUDA graph keeps its memory: leave it out, or 'compile: cuda_graphs'"};
    }
  }
};

}  // namespace lockstep
