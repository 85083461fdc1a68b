#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/parameters.hpp"

namespace lockstep {

struct ModelSpec;

/// Parts of a model that can be frozen, from the input on.
enum class ModelPart : std::uint8_t {
  BottomMlp,
  Embedding,  ///< all tables; of transformers the tables of words and positions, a tied output among them
  TopMlp,
  Layers,
  Blocks,
  Head,  ///< behind the layers: last normalisation and output, unless it is tied
};
constexpr auto names_of(ModelPart) {
  return std::to_array<EnumName<ModelPart>>({{ModelPart::BottomMlp, "bottom_mlp"},
                                             {ModelPart::Embedding, "embedding"},
                                             {ModelPart::TopMlp, "top_mlp"},
                                             {ModelPart::Layers, "layers"},
                                             {ModelPart::Blocks, "blocks"},
                                             {ModelPart::Head, "head"}});
}

/// `layers 0..11`: a part, or some of its modules.
struct FrozenRange {
  ModelPart part = ModelPart::Layers;
  std::int64_t first = 0, last = std::numeric_limits<std::int64_t>::max();
};

/// Parameters that are not trained (requires_grad = False): they have no gradients, so none are reduced, and
/// no optimizer states. Backward ends at the lowest part that is trained; forward keeps no activations below.
class FrozenParts {
 public:
  FrozenParts() = default;
  /// @throws std::invalid_argument naming the text that is no part
  explicit FrozenParts(const std::vector<std::string>& parts);

  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] bool has(ModelPart part, std::int64_t module = 0) const;
  [[nodiscard]] const std::vector<FrozenRange>& ranges() const { return ranges_; }

  /// The lowest of @p count modules of @p part that backward comes to: 0 where @p below, what comes before
  /// them, is trained; @p count where only what comes behind is.
  [[nodiscard]] std::int64_t lowest_reached(ModelPart part, std::int64_t count, bool below) const;

 private:
  std::vector<FrozenRange> ranges_;
};

/// @throws std::invalid_argument for a part that the model does not have, a model whose step is not written
///   with frozen parts, or where nothing is left to train
void check_frozen(const FrozenParts& frozen, const ModelSpec& model);

}  // namespace lockstep
