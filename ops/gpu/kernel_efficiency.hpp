#pragma once

#include <optional>
#include <string>

#include "base/provenance.hpp"
#include "ops/gpu/convolution_profile.hpp"
#include "ops/gpu/core_convolution_profile.hpp"
#include "ops/gpu/cudnn_attention_profile.hpp"
#include "ops/gpu/gemm_profile.hpp"
#include "ops/gpu/tensor_convolution_profile.hpp"

namespace lockstep {

/// Shares of its peaks that the kernels of a GPU model reach: one set per GPU model, never per workload.
/// Fractions of the DRAM bandwidth refer to the data-sheet figure, those of streaming to what streams reach.
struct KernelEfficiency {
  static constexpr const char* kConfigKind = "kernel_efficiency";

  std::string name;
  std::string source;
  bool calibrated = false;         ///< `memory` is of this GPU model, not of a relative: provenance says
  double memory = 0.85;            ///< of the DRAM bandwidth: kernels that stream
  double writes = 0.65;            ///< of streaming: kernels that only write
  double softmax = 0.75;           ///< of streaming: rows of up to 1,024 elements
  double block_softmax = 1;        ///< of streaming: longer rows, a block for each
  double layer_norm = 0.65;        ///< of streaming
  double batch_norm = 0.93;        ///< of streaming, when there is a channel for each SM
  double concatenation = 0.79;     ///< of streaming
  double transposition = 0.6;      ///< of streaming
  double random_rows = 0.95;       ///< of streaming: embedding rows read
  double scattered_update = 0.79;  ///< of streaming: embedding rows read, changed and written
  double cached_rows = 1;  ///< times the level-2 bandwidth: rows that the level-2 cache holds, read alone
  Seconds row_latency{0.6e-6};      ///< between dependent rows of one bag
  Seconds first_row{1.6e-6};        ///< of a lookup, however small, beyond the smallest kernel
  Seconds gather_latency{6e-6};     ///< of a kernel that gathers by index, however small
  Seconds reduction_latency{5e-6};  ///< of the smallest reduction
  double attention = 0.55;          ///< of the tensor peak: flash attention, forward, long sequences
  std::optional<CudnnAttentionProfile> cudnn_attention;  ///< none: cuDNN's in proportion to `attention`
  GemmProfile fp32;                                      ///< single products on CUDA cores
  GemmProfile fp32_batched;
  GemmProfile tensor;               ///< products on tensor cores, single or batched
  std::optional<GemmProfile> tf32;  ///< those in TF32, where other kernels compute them; none: as `tensor`
  ConvolutionProfile convolution;
  std::optional<CoreConvolutionProfile> core_convolution;      ///< by kernels seen; none: as `convolution`
  std::optional<TensorConvolutionProfile> tensor_convolution;  ///< of 16 bits; none: at `tensor`'s rate
  std::optional<TensorConvolutionProfile> tf32_convolution;    ///< likewise of TF32
  ProvenanceTable provenance;

  template <class Visitor>
  static void describe(Visitor& key, KernelEfficiency& of) {
    key.required("name", of.name, "name of the set");
    key.required("source", of.source, "where the fractions come from");
    key.required("memory", of.memory, "of the DRAM bandwidth: kernels that stream");
    key.required("writes", of.writes, "of streaming: kernels that only write");
    key.required("softmax", of.softmax, "of streaming: softmax of up to 1,024 elements a row");
    key.required("block_softmax", of.block_softmax,
                 "of streaming: softmax of longer rows, beside what their blocks wait for");
    key.required("layer_norm", of.layer_norm, "of streaming: layer norm");
    key.required("batch_norm", of.batch_norm, "of streaming: batch norm with a channel for each SM");
    key.required("concatenation", of.concatenation, "of streaming: concatenation and splitting");
    key.required("transposition", of.transposition, "of streaming: transposed copies");
    key.required("random_rows", of.random_rows, "of streaming: embedding rows read");
    key.required("scattered_update", of.scattered_update, "of streaming: embedding rows read and written");
    key.required("cached_rows", of.cached_rows,
                 "times the level-2 bandwidth: embedding rows in the level-2 cache, read alone, e.g. 1");
    key.required("row_latency", of.row_latency, "between dependent rows of one bag, e.g. 0.6 us");
    key.required("first_row", of.first_row,
                 "of an embedding lookup, however small, beyond the smallest kernel, e.g. 1.6 us");
    key.required("gather_latency", of.gather_latency, "of the smallest gather by index, e.g. 6 us");
    key.required("reduction_latency", of.reduction_latency, "of the smallest reduction, e.g. 5 us");
    key.required("attention", of.attention, "of the tensor peak: flash attention, forward");
    key.optional(
        "cudnn_attention", of.cudnn_attention, std::nullopt,
        "cuDNN's attention, where its kernels are this GPU's own; ~: in proportion to 'attention', as "
        "on Hopper");
    key.required("fp32", of.fp32, "single matrix products on CUDA cores");
    key.required("fp32_batched", of.fp32_batched, "batched matrix products on CUDA cores");
    key.required("tensor", of.tensor, "matrix products on tensor cores");
    key.optional("tf32", of.tf32, std::nullopt,
                 "matrix products in TF32; ~: at the parts of the peak of 'tensor'");
    key.required("convolution", of.convolution, "convolutions on CUDA cores");
    key.optional("core_convolution", of.core_convolution, std::nullopt,
                 "convolutions on CUDA cores by kernels seen one by one; ~: as 'convolution'");
    key.optional("tensor_convolution", of.tensor_convolution, std::nullopt,
                 "convolutions in 16 bits; ~: at the rate of 'tensor'");
    key.optional("tf32_convolution", of.tf32_convolution, std::nullopt,
                 "convolutions in TF32; ~: at the rate of 'tensor'");
    key.optional("provenance", of.provenance, {}, "where each of these numbers comes from, by its key");
  }
  /// Works out from the provenance what is calibrated.
  /// @throws FieldError for a fraction outside ]0, 1], a provenance of what is no parameter
  void check();
  /// For a GPU that the set was not made for: nothing is calibrated.
  void lend();
};

}  // namespace lockstep
