#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/parameters.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// In what embeddings and their gradients travel: TorchRec's QCommsConfig, FBGEMM's codecs.
enum class CommunicationType : std::uint8_t {
  FP32,
  FP16,
  BF16,
  FP8,   ///< one byte an element (HFP8)
  INT8,  ///< rows of 32 elements with an FP32 scale and offset: 40 bytes for 32 elements
};

constexpr auto names_of(CommunicationType) {
  return std::to_array<EnumName<CommunicationType>>({{CommunicationType::FP32, "fp32"},
                                                     {CommunicationType::FP16, "fp16"},
                                                     {CommunicationType::BF16, "bf16"},
                                                     {CommunicationType::FP8, "fp8"},
                                                     {CommunicationType::INT8, "int8"}});
}

/// Forward and backward; one name stands for both.
struct CommunicationTypes {
  CommunicationType forward = CommunicationType::FP32;
  CommunicationType backward = CommunicationType::FP32;

  template <class Visitor>
  static void describe(Visitor& key, CommunicationTypes& types) {
    key.optional("forward", types.forward, CommunicationType::FP32, "of pooled rows");
    key.optional("backward", types.backward, CommunicationType::FP32, "of their gradients");
  }
  /// @throws std::invalid_argument for a name that is none
  static CommunicationTypes parse(const std::string& text);

  bool operator==(const CommunicationTypes&) const = default;
};

/// Bytes of @p elements FP32 numbers when encoded.
[[nodiscard]] Bytes encoded_size(double elements, CommunicationType type);

/// The type with which the collective is called.
[[nodiscard]] DataType wire_type(CommunicationType type);

/// The type of a reduce-scatter: NCCL adds up neither FP8 nor INT8, so that FP16 takes their place (for FP8
/// as in torchrec/distributed/fbgemm_qcomm_codec.py).
[[nodiscard]] CommunicationType reducible(CommunicationType type);

}  // namespace lockstep
