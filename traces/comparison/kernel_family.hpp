#pragma once

#include <string_view>

namespace lockstep::comparison {

/// What a kernel does, by its name: `gemm`, `convolution`, `attention`, `normalisation`, `softmax`,
/// `embedding`, `optimizer`, `reduction`, `elementwise`, `copy`, `communication`, `other`. Names are those of
/// cuBLAS, CUTLASS, cuDNN, PyTorch, FlashAttention, FBGEMM and NCCL as profilers list them, and ours.
[[nodiscard]] std::string_view kernel_family(std::string_view kernel_name);

}  // namespace lockstep::comparison
