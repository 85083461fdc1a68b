#include "ops/workload/encoder_decoder_spec.hpp"

#include <fmt/format.h>

#include "ops/workload/model_sizes.hpp"

namespace lockstep {
namespace {

void append_stack(std::vector<std::int64_t>& all, const T5StackShape& stack) {
  for (std::int64_t layer = 0; layer < stack.layers; ++layer) {
    const std::vector<std::int64_t> of_layer = parameters_of(stack, layer);
    all.insert(all.end(), of_layer.begin(), of_layer.end());
  }
  all.push_back(stack.hidden);  // the last norm
}

}  // namespace

void SwitchExpertsSpec::check() const {
  if (count < 1 || capacity < 1) {
    throw FieldError{count < 1 ? "count" : "capacity", "must be at least 1"};
  }
  if (used() < 1 || used() > count) {
    throw FieldError{"chosen", fmt::format("between 1 and the {} experts there are, not {}", count, used())};
  }
  if (encoder_every < 0 || decoder_every < 0) {
    throw FieldError{encoder_every < 0 ? "encoder_every" : "decoder_every", "is not negative"};
  }
  if (encoder_every + decoder_every == 0) {
    throw FieldError{"encoder_every",
                     "0, and so is 'decoder_every': no layer has experts; leave 'experts' out"};
  }
}

void EncoderDecoderSpec::check() const {
  const auto positive = [](const char* key, std::int64_t value) {
    if (value < 1) {
      throw FieldError{key, fmt::format("must be at least 1, not {}", value)};
    }
  };
  positive("layers", layers);
  positive("decoder_layers", layers_of_decoder());
  positive("hidden", hidden);
  positive("heads", heads);
  positive("head_size", head_size.value_or(1));
  positive("feed_forward", feed_forward);
  positive("vocabulary", vocabulary);
  positive("buckets", buckets);
  positive("sequence", sequence);
  positive("decoder_sequence", written_tokens());
  check_sizes(*this);
  if (!head_size && hidden % heads != 0) {
    throw FieldError{
        "heads", fmt::format("{} heads do not divide a hidden width of {}: say 'head_size'", heads, hidden)};
  }
  if (cross_attention != AttentionKernels::Flash && cross_attention != AttentionKernels::CuDnn) {
    throw FieldError{"cross_attention",
                     fmt::format("flash or cudnn, not {}: FP32 takes xFormers' kernels by itself",
                                 name_of(cross_attention))};
  }
  if (experts && activation != T5FeedForward::Relu) {
    throw FieldError{"activation",
                     "Switch Transformers' code has no gated feed-forward: 'activation: relu' with experts"};
  }
  if (experts && !tied) {
    throw FieldError{"tied", "Switch Transformers' output uses the token embedding's weight: leave it out"};
  }
}

T5StackShape EncoderDecoderSpec::encoder(std::int64_t batch) const {
  T5StackShape stack{.batch = batch,
                     .sequence = sequence,
                     .layers = layers,
                     .hidden = hidden,
                     .heads = heads,
                     .head_size = head_size.value_or(hidden / heads),
                     .feed_forward = feed_forward,
                     .buckets = buckets,
                     .gated = activation == T5FeedForward::GatedGelu,
                     .dropout = dropout,
                     .cross_kernels = cross_attention,
                     .routing = {}};
  if (experts) {
    stack.routing = SwitchRouting{.count = experts->count,
                                  .capacity = experts->capacity,
                                  .chosen = experts->used(),
                                  .every = experts->encoder_every,
                                  .jitter = experts->jitter};
  }
  return stack;
}

T5StackShape EncoderDecoderSpec::decoder(std::int64_t batch) const {
  T5StackShape stack = encoder(batch);
  stack.sequence = written_tokens();
  stack.layers = layers_of_decoder();
  stack.encoded = sequence;
  if (stack.routing) {
    stack.routing->every = experts->decoder_every;
  }
  return stack;
}

std::vector<std::int64_t> EncoderDecoderSpec::parameters() const {
  std::vector<std::int64_t> all{vocabulary * hidden};
  append_stack(all, encoder(1));
  append_stack(all, decoder(1));
  if (!tied) {
    all.push_back(vocabulary * hidden);
  }
  return all;
}

}  // namespace lockstep
