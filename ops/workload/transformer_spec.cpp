#include "ops/workload/transformer_spec.hpp"

#include <fmt/format.h>

namespace lockstep {

void TransformerSpec::check() const {
  const auto positive = [](const char* key, std::int64_t value) {
    if (value < 1) {
      throw FieldError{key, fmt::format("must be at least 1, not {}", value)};
    }
  };
  positive("layers", layers);
  positive("hidden", hidden);
  positive("heads", heads);
  positive("vocabulary", vocabulary);
  positive("positions", positions);
  positive("feed_forward", feed_forward.value_or(1));
  if (hidden % heads != 0) {
    throw FieldError{"heads", fmt::format("{} heads do not divide a hidden width of {}", heads, hidden)};
  }
  if (sequence < 2 || sequence > positions) {
    throw FieldError{"sequence", fmt::format("must be between 2 and the model's {} positions, not {}",
                                             positions, sequence)};
  }
  if (token_types < 0 || (family == TransformerFamily::Gpt && token_types > 0)) {
    throw FieldError{"token_types", "'token_types' is not negative, and 0 for a gpt"};
  }
}

BlockShape TransformerSpec::block(std::int64_t batch) const {
  return {.kind = family == TransformerFamily::Gpt ? BlockKind::Gpt : BlockKind::Bert,
          .batch = batch,
          .sequence = sequence,
          .hidden = hidden,
          .heads = heads,
          .feed_forward = feed_forward.value_or(4 * hidden),
          .dropout = dropout,
          .gelu = gelu,
          .attention = attention};
}

std::vector<std::int64_t> TransformerSpec::parameters() const {
  const bool is_bert = family == TransformerFamily::Bert;
  std::vector<std::int64_t> all{vocabulary * hidden, positions * hidden};
  if (token_types > 0) {
    all.push_back(token_types * hidden);
  }
  if (is_bert) {
    all.insert(all.end(), {hidden, hidden});
  }
  const std::vector<std::int64_t> of_block = parameters_of(block(1));
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    all.insert(all.end(), of_block.begin(), of_block.end());
  }
  if (is_bert) {  // the head: bias of the output, dense layer, normalisation
    all.insert(all.end(), {vocabulary, hidden * hidden, hidden, hidden, hidden});
  } else {
    all.insert(all.end(), {hidden, hidden});
  }
  return all;
}

}  // namespace lockstep
