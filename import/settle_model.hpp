#pragma once

#include "base/config_path.hpp"
#include "import/draft.hpp"

namespace lockstep::importing {

/// A draft's model, with what the shipped file says that it starts from.
class DraftModel {
 public:
  DraftModel(Draft& draft, const ConfigPath& configs);

  /// The text of a key of the transformer, "" where neither says it.
  [[nodiscard]] std::string fact(const std::string& key) const;
  [[nodiscard]] double number(const std::string& key, double otherwise) const;
  [[nodiscard]] bool is_llama() const;
  /// GPT-2's, BERT's and OPT's layers.
  [[nodiscard]] bool is_in_modules() const;
  [[nodiscard]] bool is_encoder_decoder() const;
  [[nodiscard]] bool has_experts() const;
  /// A transformer, whoever describes it.
  [[nodiscard]] bool is_transformer() const;
  /// Parameters, about, of products and embeddings.
  [[nodiscard]] double parameters() const;

 private:
  Draft& draft_;
  YamlNode shipped_;  ///< its `transformer:`, or empty
};

/// Chooses `implementation`, and mends keys that its layers do not have.
void settle_model(Draft& draft, const ConfigPath& configs);

}  // namespace lockstep::importing
