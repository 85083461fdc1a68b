#include "traces/comparison/kernel_family.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace lockstep::comparison {
namespace {

struct Sign {
  std::string_view part;  // of the name in lower case
  std::string_view family;
};

// The first that fits. Specific ones come before the general ones that their names contain.
constexpr std::array kSigns{
    Sign{"nccl", "communication"},
    Sign{"rccl", "communication"},
    Sign{"memcpy", "copy"},
    Sign{"memset", "copy"},
    Sign{"copy_kernel", "copy"},
    Sign{"catarray", "copy"},
    Sign{"flash", "attention"},
    Sign{"fmha", "attention"},
    Sign{"attention", "attention"},
    Sign{"conv", "convolution"},
    Sign{"cudnn", "convolution"},
    Sign{"wgrad", "convolution"},
    Sign{"dgrad", "convolution"},
    Sign{"winograd", "convolution"},
    Sign{"batch_norm", "normalisation"},
    Sign{"batchnorm", "normalisation"},
    Sign{"bn_", "normalisation"},
    Sign{"layer_norm", "normalisation"},
    Sign{"layernorm", "normalisation"},
    Sign{"gammabeta", "normalisation"},
    Sign{"rmsnorm", "normalisation"},
    Sign{"softmax", "softmax"},
    Sign{"embedding", "embedding"},
    Sign{"lru_cache", "embedding"},
    Sign{"indexselect", "embedding"},
    Sign{"multi_tensor", "optimizer"},
    Sign{"multitensor", "optimizer"},
    Sign{"adam", "optimizer"},
    Sign{"sgd", "optimizer"},
    Sign{"gemm", "gemm"},
    Sign{"gemv", "gemm"},
    Sign{"cutlass", "gemm"},
    Sign{"xmma", "gemm"},
    Sign{"nvjet", "gemm"},
    Sign{"splitk", "gemm"},
    Sign{"reduce", "reduction"},
    Sign{"elementwise", "elementwise"},
    Sign{"transpose", "elementwise"},
    Sign{"dropout", "elementwise"},
    Sign{"triton", "elementwise"},
};

}  // namespace

std::string_view kernel_family(std::string_view kernel_name) {
  std::string name{kernel_name};
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* const found = std::find_if(kSigns.begin(), kSigns.end(), [&](const Sign& sign) {
    return name.find(sign.part) != std::string::npos;
  });
  return found == kSigns.end() ? "other" : found->family;
}

}  // namespace lockstep::comparison
