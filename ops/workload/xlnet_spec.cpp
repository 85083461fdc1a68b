#include "ops/workload/xlnet_spec.hpp"

#include <fmt/format.h>

#include "ops/workload/model_sizes.hpp"

namespace lockstep {

void XlnetSpec::check() const {
  const auto positive = [](const char* key, std::int64_t value) {
    if (value < 1) {
      throw FieldError{key, fmt::format("must be at least 1, not {}", value)};
    }
  };
  positive("layers", layers);
  positive("hidden", hidden);
  positive("heads", heads);
  positive("feed_forward", feed_forward.value_or(1));
  positive("vocabulary", vocabulary);
  positive("sequence", sequence);
  check_sizes(*this);
  if (hidden % heads != 0) {
    throw FieldError{"heads", fmt::format("{} heads do not divide a hidden width of {}", heads, hidden)};
  }
  if (hidden % 2 != 0) {
    throw FieldError{"hidden",
                     fmt::format("half of a distance's encoding are sines, half cosines: {} is odd", hidden)};
  }
}

XlnetLayerShape XlnetSpec::layer(std::int64_t batch) const {
  return {.attention = {.batch = batch,
                        .sequence = sequence,
                        .hidden = hidden,
                        .heads = heads,
                        .segments = segments,
                        .masked = attention_mask,
                        .dropout = dropout},
          .feed_forward = feed_forward_width()};
}

std::vector<std::int64_t> XlnetSpec::parameters() const {
  std::vector<std::int64_t> all{vocabulary * hidden};
  const std::vector<std::int64_t> of_layer = parameters_of(layer(1));
  for (std::int64_t index = 0; index < layers; ++index) {
    all.insert(all.end(), of_layer.begin(), of_layer.end());
  }
  all.push_back(vocabulary);  // lm_loss.bias; its weight is the embedding's
  return all;
}

}  // namespace lockstep
