// TransformerSpec::check_fine_tuning: adapters, and samples that share a sequence.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "ops/workload/transformer_spec.hpp"

namespace lockstep {
namespace {

/// The reason why a model cannot have adapters; empty: none.
std::string_view hindrance_to_lora(const TransformerSpec& model) {
  if (model.implementation == Implementation::HuggingFaceLlama) {
    return "";
  }
  if (model.implementation != Implementation::Megatron) {
    return "adapters are written for 'implementation: megatron' and 'hugging_face_llama'";
  }
  if (model.family != TransformerFamily::Gpt) {
    return "adapters are written for 'family: gpt'";
  }
  if (model.experts || model.latent_attention) {
    return model.experts ? "adapters are not written for models with experts"
                         : "adapters are not written for latent attention";
  }
  if (model.qkv_bias) {
    return "adapters are written for models with 'qkv_bias: false'";
  }
  if (model.bias || model.residual != Residual::Serial) {
    return model.bias ? "adapters are written for models with 'bias: false'"
                      : "adapters are written for models with 'residual: serial'";
  }
  return "";
}

void check_lora(const TransformerSpec& model) {
  if (const std::string_view hindrance = hindrance_to_lora(model); !hindrance.empty()) {
    throw FieldError{"lora", std::string{hindrance}};
  }
  const bool is_megatron = model.implementation == Implementation::Megatron;
  for (const LoraModule module : model.lora->target_modules) {
    if ((module <= LoraModule::LinearFc2) != is_megatron) {
      throw FieldError{
          "lora",
          fmt::format("'{}' is no module of {}, which has {}", name_of(module), name_of(model.implementation),
                      is_megatron ? "linear_qkv, linear_proj, linear_fc1 and linear_fc2"
                                  : "q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj and down_proj")};
    }
  }
  if (model.lora->rank > model.hidden) {
    throw FieldError{"lora",
                     fmt::format("a rank of {} is more than the {} that a layer is wide: it would take "
                                 "more than the weights do",
                                 model.lora->rank, model.hidden)};
  }
}

}  // namespace

void TransformerSpec::check_fine_tuning() const {
  if (lora) {
    check_lora(*this);
  }
  if (packed < 1 || packed > sequence) {
    throw FieldError{"packed",
                     fmt::format("between 1 and the {} tokens of a sequence, not {}", sequence, packed)};
  }
  if (packed == 1) {
    return;
  }
  if (implementation != Implementation::Megatron && implementation != Implementation::HuggingFaceLlama) {
    throw FieldError{"packed",
                     "samples share sequences of 'implementation: megatron' and 'hugging_face_llama' only"};
  }
  if (attention == AttentionKernels::Unfused || latent_attention) {
    throw FieldError{"packed",
                     latent_attention
                         ? "is not written for latent attention"
                         : "attention within each sample is a kernel's work: say 'attention: flash' or "
                           "another such kernel"};
  }
}

}  // namespace lockstep
