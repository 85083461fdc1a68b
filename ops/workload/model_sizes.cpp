#include "ops/workload/model_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace lockstep {
namespace {

constexpr double kProductsOfAttention = 4;    // queries, keys, values, output
constexpr double kProductsOfFeedForward = 3;  // gated: two in, one out

double real(std::int64_t count) {
  return static_cast<double>(count);
}

double feed_forward_of(const TransformerSpec& model) {
  const double dense = model.feed_forward ? real(*model.feed_forward) : 4 * real(model.hidden);
  return model.experts ? std::max(dense, real(model.experts->feed_forward)) : dense;
}

double experts_of(const TransformerSpec& model) {
  return model.experts ? 1 + real(model.experts->count) + real(model.experts->shared) : 1;
}

double heads_width(double heads, double hidden, const std::optional<std::int64_t>& head_size) {
  return std::max(hidden, head_size ? heads * real(*head_size) : hidden);
}

double of_sequence(double sequence, double heads, std::initializer_list<double> widths) {
  return sequence * std::max(heads * sequence, kProductsOfFeedForward * std::max(widths));
}

double of_transformer(const TransformerSpec& model, double sequence) {
  const double heads = real(model.heads);
  const double chosen = model.experts ? 1 + real(model.experts->per_token) + real(model.experts->shared) : 1;
  const auto widest =
      model.latent_attention
          ? heads * (real(model.latent_attention->value_size) + real(model.latent_attention->rotary_size))
          : 0;
  return of_sequence(sequence, heads,
                     {real(model.vocabulary), chosen * feed_forward_of(model), chosen * real(model.hidden),
                      widest, heads_width(heads, real(model.hidden), model.head_size)});
}

double width_of_features(const DlrmSpec& model) {
  double tables = 0, width = 0, picks = 0;
  for (const TableGroupSpec& group : model.tables) {
    const double count = real(group.count) * static_cast<double>(group.rows.size());
    tables += count;
    width += count * real(group.dimension);
    picks += count * group.pooling_factor * real(std::max<std::int64_t>(group.dimension, 1));
  }
  const double pairs = (tables + 1) * (tables + 1);
  return std::max({pairs, width, picks, real(model.cross_projection)});
}

void check_widths_of(const char* key, double before, const std::vector<std::int64_t>& widths) {
  for (const std::int64_t width : widths) {
    if (before * real(width) > kMostParameters) {
      throw FieldError{key, fmt::format("layers of {:g} x {} elements: at most {:g} can be counted", before,
                                        width, kMostParameters)};
    }
    before = real(width);
  }
}

double widest(const std::vector<std::int64_t>& widths) {
  return widths.empty() ? 0 : real(*std::ranges::max_element(widths));
}

double of_image(const CnnSpec& model) {
  double channels = real(model.image_channels), filters = 1;
  for (const CnnBlock& block : model.blocks) {
    double joined = channels;
    for (const std::vector<std::string>& branch : block.branches) {
      for (const std::string& text : branch) {
        const CnnLayer layer = CnnLayer::parse(text);
        const double side_by_side = static_cast<double>(layer.filters.size());
        joined += real(layer.channels) * side_by_side;
        for (const CnnLayer::Filter& filter : layer.filters) {
          filters = std::max(filters, real(filter.height) * real(filter.width));
        }
      }
    }
    channels = std::max(channels, joined);
  }
  return channels * std::max(filters * channels, real(model.image_size) * real(model.image_size));
}

std::int64_t layers_of(const ModelSpec& model) {
  if (model.encoder_decoder) {
    return model.encoder_decoder->layers + model.encoder_decoder->layers_of_decoder();
  }
  if (model.xlnet) {
    return model.xlnet->layers;
  }
  return model.transformer ? model.transformer->layers : 1;
}

void check_parameters(const char* what, std::initializer_list<SizeFactor> factors) {
  check_elements(what, factors, kMostParameters);
}

}  // namespace

void check_elements(const char* what, std::initializer_list<SizeFactor> factors, double most) {
  const double product =
      std::accumulate(factors.begin(), factors.end(), 1.0,
                      [](double all, const SizeFactor& factor) { return all * factor.value; });
  if (product > most) {
    const SizeFactor largest =
        std::max(factors, [](const SizeFactor& a, const SizeFactor& b) { return a.value < b.value; });
    throw FieldError{largest.key, fmt::format("{} would have {:.2g} elements; at most {:g} can be counted",
                                              what, product, most)};
  }
}

void check_at_most(const char* key, std::int64_t value, std::int64_t most) {
  if (value > most) {
    throw FieldError{key, fmt::format("at most {}, not {}", most, value)};
  }
}

void check_sizes(const CnnSpec& model) {
  std::int64_t blocks = 0;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    blocks += model.blocks[i].repeat;
    if (blocks > kMostLayers) {
      throw FieldError{fmt::format("blocks.{}.repeat", i),
                       fmt::format("a network has at most {} blocks", kMostLayers)};
    }
  }
  check_elements("the layers of an image", {{"image_size", of_image(model)}});
  check_parameters("the last layer", {{"classes", real(model.classes)}, {"blocks", of_image(model)}});
}

void check_sizes(const DlrmSpec& model) {
  double tables = 0, elements = 0;
  for (std::size_t i = 0; i < model.tables.size(); ++i) {
    const TableGroupSpec& group = model.tables[i];
    tables += real(group.count) * static_cast<double>(group.rows.size());
    elements += real(group.count) * real(group.dimension) *
                std::accumulate(group.rows.begin(), group.rows.end(), 0.0);
    if (tables > real(kMostTables)) {
      throw FieldError{fmt::format("tables.{}.count", i),
                       fmt::format("would be {:.0f} tables; a DLRM has at most {}", tables, kMostTables)};
    }
    if (elements > kMostElements) {
      throw FieldError{fmt::format("tables.{}.rows", i),
                       fmt::format("the tables would have {:.2g} elements; at most {:g} can be counted",
                                   elements, kMostElements)};
    }
  }
  check_at_most("cross_layers", model.cross_layers, kMostLayers);
  check_widths_of("bottom_mlp", 1, model.bottom_mlp);
  check_widths_of("top_mlp", width_of_features(model) + widest(model.bottom_mlp), model.top_mlp);
  check_parameters("a cross layer", {{"cross_projection", real(model.cross_projection)},
                                     {"tables", width_of_features(model) + widest(model.bottom_mlp)}});
}

void check_sizes(const TransformerSpec& model) {
  check_at_most("layers", model.layers, kMostLayers);
  if (model.experts) {
    check_at_most("experts.count", model.experts->count, kMostTables);
  }
  const double width = heads_width(real(model.heads), real(model.hidden), model.head_size);
  check_parameters("the token embedding",
                   {{"vocabulary", real(model.vocabulary)}, {"hidden", real(model.hidden)}});
  check_parameters("the positions", {{"positions", real(model.positions)}, {"hidden", real(model.hidden)}});
  check_parameters("attention's weights", {{"layers", kProductsOfAttention * real(model.layers)},
                                           {"hidden", real(model.hidden)},
                                           {model.head_size ? "head_size" : "hidden", width}});
  check_parameters("the feed-forward layers' weights",
                   {{"layers", kProductsOfFeedForward * real(model.layers) * experts_of(model)},
                    {"hidden", real(model.hidden)},
                    {"feed_forward", feed_forward_of(model)}});
  check_parameters("the classifier",
                   {{"classes", real(model.classes.value_or(1))}, {"hidden", real(model.hidden)}});
  check_parameters("the token types", {{"token_types", real(std::max<std::int64_t>(model.token_types, 1))},
                                       {"hidden", real(model.hidden)}});
  if (const auto& latent = model.latent_attention) {
    const double ranks = real(latent->query_rank.value_or(model.hidden)) + real(latent->key_value_rank);
    const double of_head =
        real(latent->rotary_size) + real(latent->value_size) + real(model.head_size.value_or(model.hidden));
    check_parameters("latent attention's weights",
                     {{"latent_attention.query_rank", ranks * real(model.layers)},
                      {"latent_attention.value_size", of_head * real(model.heads)}});
    check_parameters(
        "latent attention's weights",
        {{"latent_attention.query_rank", ranks * real(model.layers)}, {"hidden", real(model.hidden)}});
  }
  check_elements("a sample", {{"sequence", of_transformer(model, real(model.sequence))}});
}

void check_sizes(const EncoderDecoderSpec& model) {
  check_at_most("layers", model.layers, kMostLayers);
  check_at_most("decoder_layers", model.layers_of_decoder(), kMostLayers);
  const double layers = real(model.layers) + real(model.layers_of_decoder());
  const double experts = model.experts ? 1 + real(model.experts->count) : 1;
  if (model.experts) {
    check_at_most("experts.count", model.experts->count, kMostTables);
  }
  check_parameters("the token embedding",
                   {{"vocabulary", real(model.vocabulary)}, {"hidden", real(model.hidden)}});
  check_parameters("attention's weights",
                   {{"layers", 2 * kProductsOfAttention * layers},
                    {"hidden", real(model.hidden)},
                    {model.head_size ? "head_size" : "hidden",
                     heads_width(real(model.heads), real(model.hidden), model.head_size)}});
  check_parameters("the feed-forward layers' weights", {{"layers", kProductsOfFeedForward * layers * experts},
                                                        {"hidden", real(model.hidden)},
                                                        {"feed_forward", real(model.feed_forward)}});
  check_parameters("the biases of distances",
                   {{"buckets", real(model.buckets)}, {"heads", real(model.heads)}});
}

void check_sizes(const XlnetSpec& model) {
  const double feed_forward = model.feed_forward ? real(*model.feed_forward) : 4 * real(model.hidden);
  check_at_most("layers", model.layers, kMostLayers);
  check_parameters("the token embedding",
                   {{"vocabulary", real(model.vocabulary)}, {"hidden", real(model.hidden)}});
  check_parameters("attention's weights", {{"layers", (kProductsOfAttention + 1) * real(model.layers)},
                                           {"hidden", real(model.hidden)},
                                           {"hidden", real(model.hidden)}});
  check_elements(
      "the feed-forward layers' weights",
      {{"layers", 2 * real(model.layers)}, {"hidden", real(model.hidden)}, {"feed_forward", feed_forward}});
}

double elements_of_sample(const ModelSpec& model, std::optional<std::int64_t> sequence) {
  if (model.cnn) {
    return of_image(*model.cnn);
  }
  if (model.dlrm) {
    return std::max(
        {width_of_features(*model.dlrm), widest(model.dlrm->bottom_mlp), widest(model.dlrm->top_mlp)});
  }
  if (model.xlnet) {
    const XlnetSpec& xlnet = *model.xlnet;
    const double feed_forward = xlnet.feed_forward ? real(*xlnet.feed_forward) : 4 * real(xlnet.hidden);
    return of_sequence(2 * real(sequence.value_or(xlnet.sequence)), real(xlnet.heads),
                       {real(xlnet.vocabulary), real(xlnet.hidden), feed_forward});
  }
  if (model.encoder_decoder) {
    const EncoderDecoderSpec& both = *model.encoder_decoder;
    return of_sequence(
        real(std::max(both.sequence, both.written_tokens())), real(both.heads),
        {real(both.vocabulary), heads_width(real(both.heads), real(both.hidden), both.head_size),
         (both.experts ? 1 + real(both.experts->used()) : 1) * real(both.feed_forward)});
  }
  return of_transformer(model.transformer.value(), real(sequence.value_or(model.transformer->sequence)));
}

void check_operations(const ModelSpec& model, int micro_batches) {
  constexpr double kOperationsOfLayer = 136, kBytesOfOperation = 80;  // forward and backward
  constexpr double kMostOperations = 3e8;
  const double operations = kOperationsOfLayer * real(layers_of(model)) * micro_batches;
  if (operations > kMostOperations) {
    throw std::invalid_argument{fmt::format(
        "{} layers and {} micro-batches a step would be {:.0e} operations, about {:.0f} GB of this machine's "
        "memory; at most {:.0e} are simulated",
        layers_of(model), micro_batches, operations, operations * kBytesOfOperation / 1e9, kMostOperations)};
  }
}

}  // namespace lockstep
