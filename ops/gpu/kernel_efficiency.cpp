#include "ops/gpu/kernel_efficiency.hpp"

#include <initializer_list>
#include <utility>

#include "base/parameters.hpp"

namespace lockstep {

void KernelEfficiency::check() {
  using Fraction = std::pair<const char*, double>;
  for (const auto& [key, value] :
       {Fraction{"memory", memory}, Fraction{"writes", writes}, Fraction{"softmax", softmax},
        Fraction{"block_softmax", block_softmax}, Fraction{"layer_norm", layer_norm},
        Fraction{"batch_norm", batch_norm}, Fraction{"concatenation", concatenation},
        Fraction{"transposition", transposition}, Fraction{"random_rows", random_rows},
        Fraction{"scattered_update", scattered_update}, Fraction{"attention", attention}}) {
    if (!(value > 0 && value <= 1)) throw FieldError(key, "a fraction above 0, at most 1");
  }
  check_keys<KernelEfficiency>(provenance);
  const auto is_its_own = [&](const char* key) { return is_own(evidence_for(provenance, key).is); };
  calibrated = is_its_own("memory");
  fp32.calibrated = is_its_own("fp32.tiles");
  fp32_batched.calibrated = is_its_own("fp32_batched.tiles");
  tensor.calibrated = is_its_own("tensor.tiles");
  convolution.calibrated = is_its_own("convolution");
  if (tf32) tf32->calibrated = is_its_own("tf32.tiles");
  if (core_convolution) core_convolution->calibrated = is_its_own("core_convolution");
  if (tensor_convolution) tensor_convolution->calibrated = is_its_own("tensor_convolution");
  if (tf32_convolution) tf32_convolution->calibrated = is_its_own("tf32_convolution");
}

void KernelEfficiency::lend() {
  calibrated = fp32.calibrated = fp32_batched.calibrated = tensor.calibrated = convolution.calibrated = false;
  if (tf32) tf32->calibrated = false;
  if (core_convolution) core_convolution->calibrated = false;
  if (tensor_convolution) tensor_convolution->calibrated = false;
  if (tf32_convolution) tf32_convolution->calibrated = false;
}

}  // namespace lockstep
