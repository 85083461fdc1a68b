#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "import/draft.hpp"
#include "import/words.hpp"

namespace lockstep::importing::hugging_face {

using Fact = std::pair<std::string_view, std::string_view>;

/// Models of transformers whose configurations have the same keys.
struct Family {
  std::span<const std::string_view> types;     ///< `model_type`
  std::span<const Fact> facts;                 ///< keys of the scenario that the type itself says
  std::span<const Word> words;                 ///< its sizes
  std::span<const std::string_view> required;  ///< keys of the scenario that it has to have

  [[nodiscard]] bool is_known(std::string_view type) const;
  /// `tie_word_embeddings` and others whose default is the family's.
  void take_switch(std::string_view key, bool on, const Source& source, Draft& draft) const;
};

/// The family of a `model_type`; Llama's for one that is not known.
[[nodiscard]] const Family& family_of(std::string_view type);

/// Keys of all configurations.
[[nodiscard]] std::span<const Word> common_words();

inline constexpr std::array<std::string_view, 4> kExpertCounts{"num_local_experts", "num_experts",
                                                               "n_routed_experts", "moe_num_experts"};

}  // namespace lockstep::importing::hugging_face
