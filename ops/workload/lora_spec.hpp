#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/parameters.hpp"

namespace lockstep {

/// Modules that may have an adapter, by their names: Megatron-Core's, then those of Llama in Hugging Face's
/// code.
enum class LoraModule : std::uint8_t {
  LinearQkv,
  LinearProj,
  LinearFc1,
  LinearFc2,
  QProj,
  KProj,
  VProj,
  OProj,
  GateProj,
  UpProj,
  DownProj,
};
constexpr auto names_of(LoraModule) {
  return std::to_array<EnumName<LoraModule>>({{LoraModule::LinearQkv, "linear_qkv"},
                                              {LoraModule::LinearProj, "linear_proj"},
                                              {LoraModule::LinearFc1, "linear_fc1"},
                                              {LoraModule::LinearFc2, "linear_fc2"},
                                              {LoraModule::QProj, "q_proj"},
                                              {LoraModule::KProj, "k_proj"},
                                              {LoraModule::VProj, "v_proj"},
                                              {LoraModule::OProj, "o_proj"},
                                              {LoraModule::GateProj, "gate_proj"},
                                              {LoraModule::UpProj, "up_proj"},
                                              {LoraModule::DownProj, "down_proj"}});
}

/// Low-rank adaptation (Hu et al., arXiv 2106.09685): every weight of the model is frozen; beside some
/// products x W a narrow pair x A B is trained.
struct LoraSpec {
  std::int64_t rank = 0;
  std::vector<LoraModule> target_modules;
  bool dropout = false;

  template <class Visitor>
  static void describe(Visitor& key, LoraSpec& lora) {
    key.required("rank", lora.rank, "columns of A and rows of B");
    key.required(
        "target_modules", lora.target_modules,
        "products that have an adapter: linear_qkv, linear_proj, linear_fc1, linear_fc2 of megatron; "
        "q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj of hugging_face_llama");
    key.optional("dropout", lora.dropout, false, "of what A reads");
  }
  /// @throws FieldError for a rank below 1, no module or one named twice
  void check() const;

  [[nodiscard]] bool adapts(LoraModule module) const {
    return std::find(target_modules.begin(), target_modules.end(), module) != target_modules.end();
  }
};

}  // namespace lockstep
