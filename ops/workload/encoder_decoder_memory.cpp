#include "ops/workload/encoder_decoder_memory.hpp"

namespace lockstep {
EncoderDecoderMemory::EncoderDecoderMemory(const EncoderDecoderSpec& spec, std::int64_t batch,
                                           TensorTypes types)
    : TensorSizes{types, spec.dropout}, spec_{spec}, batch_{batch} {}

std::int64_t EncoderDecoderMemory::logits() const {
  return batch_ * spec_.written_tokens() * spec_.vocabulary;
}

void EncoderDecoderMemory::keep_norm(Tensors& kept, std::int64_t elements) const {
  const bool is_narrow = types_.model() != DataType::FP32;
  append(kept, {model(elements), is_narrow ? wide(elements) : Bytes{0}, model(elements)});
}

void EncoderDecoderMemory::keep_attention(Tensors& kept, const T5AttentionShape& shape,
                                          bool is_cached) const {
  const std::int64_t queries = shape.query_rows() * shape.inner(), keys = shape.key_rows() * shape.inner();
  const std::int64_t read = shape.query_rows() * shape.hidden, other = shape.key_rows() * shape.hidden;
  append(kept, {narrow(read)});  // without casts all three projections read one tensor
  if (types_.casts()) {
    append(kept, {narrow(other), narrow(other)});
  }
  append(kept, {narrow(queries), narrow(keys), narrow(keys)});
  if (is_cached && shape.batch > 1) {
    append(kept, {narrow(keys), narrow(keys)});
  }
  const bool read_apart = dropout_ || storage_type(types_.precision) != DataType::FP32;
  append(kept, {wide(shape.scores()), mask(shape.scores()), read_apart ? narrow(shape.scores()) : Bytes{0},
                narrow(queries), mask(read)});
}

void EncoderDecoderMemory::keep_feed_forward(Tensors& kept, const T5FeedForwardShape& shape) const {
  const std::int64_t read = shape.rows * shape.hidden, inner = shape.inner();
  append(kept, {narrow(read)});
  if (shape.gated) {
    append(kept, {types_.casts() ? narrow(read) : Bytes{0}, narrow(inner), model(inner), model(inner),
                  model(inner), model(inner), narrow(inner)});
  } else {
    append(kept, {narrow(inner)});
  }
  const bool read_apart = dropout_ || shape.gated || types_.casts();
  append(kept, {mask(inner), read_apart ? narrow(inner) : Bytes{0}});
}

void EncoderDecoderMemory::keep_experts(Tensors& kept, const SwitchExpertsShape& shape) const {
  const std::int64_t all = shape.elements();
  append(kept, {shape.jitter ? wide(all) : Bytes{0}, narrow(all), wide(shape.scores()), wide(shape.scores()),
                model(all)});
  for (std::int64_t expert = 0; expert < shape.count; ++expert) {
    if (shape.tokens_of(expert) > 0) {
      keep_feed_forward(kept, shape.expert(expert));
    }
  }
}

Tensors EncoderDecoderMemory::kept_by_stack(const T5StackShape& stack) const {
  return tensors({mask(stack.elements()), model(stack.self_attention().scores()),
                  stack.is_decoder() ? model(stack.cross_attention().scores()) : Bytes{0}});
}

Tensors EncoderDecoderMemory::kept_by_layer(const T5StackShape& stack, std::int64_t layer) const {
  Tensors kept;
  keep_norm(kept, stack.elements());
  keep_attention(kept, stack.self_attention(), stack.is_decoder());
  if (stack.is_decoder()) {
    keep_norm(kept, stack.elements());
    keep_attention(kept, stack.cross_attention(), true);
  }
  keep_norm(kept, stack.elements());
  if (stack.is_sparse(layer)) {
    keep_experts(kept, stack.experts());
  } else {
    keep_feed_forward(kept, stack.dense());
  }
  append(kept, {mask(stack.elements())});
  return kept;
}

Tensors EncoderDecoderMemory::cast_weights_of_layer(const T5StackShape& stack, std::int64_t layer) const {
  Tensors cast;
  if (!types_.casts()) {
    return cast;
  }
  for (const std::int64_t elements : parameters_of(stack, layer)) {
    if (elements != stack.hidden && elements != stack.buckets * stack.heads) {  // norms and the bias's table
      append(cast, {narrow(elements)});
    }
  }
  return cast;
}

Tensors EncoderDecoderMemory::kept_behind_stack(const T5StackShape& stack) const {
  Tensors kept;
  keep_norm(kept, stack.elements());
  append(kept, {mask(stack.elements()), model(stack.elements())});
  return kept;
}

Tensors EncoderDecoderMemory::cached_by_layer(const T5StackShape& decoder) const {
  const T5AttentionShape self = decoder.self_attention(), cross = decoder.cross_attention();
  Tensors cached(2, narrow(self.key_rows() * self.inner()));
  cached.insert(cached.end(), 2, narrow(cross.key_rows() * cross.inner()));
  return cached;
}

Tensors EncoderDecoderMemory::kept_by_head() const {
  return tensors({narrow(batch_ * spec_.written_tokens() * spec_.hidden), narrow(logits()), wide(logits()),
                  types_.casts() ? narrow(logits()) : Bytes{0}});
}

Tensors EncoderDecoderMemory::cast_weights_of_head() const {
  return tensors({types_.casts() ? narrow(spec_.hidden * spec_.vocabulary) : Bytes{0}});
}

Tensors EncoderDecoderMemory::loss_forward() const {
  return tensors({is_mixed(types_.precision) && !types_.casts() ? wide(logits()) : Bytes{0}});
}

Tensors EncoderDecoderMemory::loss_backward() const {
  return tensors({wide(logits()), types_.casts() ? narrow(logits()) : wide(logits())});
}

}  // namespace lockstep
