#include "ops/workload/xlnet_memory.hpp"

namespace lockstep {
XlnetMemory::XlnetMemory(const XlnetSpec& spec, std::int64_t batch, TensorTypes types)
    : TensorSizes{types, spec.dropout}, spec_{spec}, layer_{spec.layer(batch)} {}

std::int64_t XlnetMemory::logits() const {
  return layer_.attention.rows() * spec_.vocabulary;
}

void XlnetMemory::keep_attention(Tensors& kept) const {
  const XlnetAttentionShape& shape = layer_.attention;
  const Bytes one = narrow(shape.elements()), weight = narrow(shape.weight());
  const bool casts = types_.casts();
  kept.insert(kept.end(), casts ? 3 : 1, one);  // without casts all three projections read one tensor
  const bool casts_distances = storage_type(types_.precision) != DataType::FP32;
  append(kept, {casts_distances ? narrow(shape.distances()) : Bytes{0}, one, one, narrow(shape.distances())});
  kept.insert(kept.end(), shape.segments ? 3 : 2, one);  // queries plus biases
  const bool has_own_pairs = shape.segments && (shape.batch > 1 || casts);
  const bool read_apart = dropout_ || casts;
  append(kept, {has_own_pairs ? narrow(shape.pair_segments()) : Bytes{0}, model(shape.scores()),
                mask(shape.scores()), read_apart ? narrow(shape.scores()) : Bytes{0}, one, weight,
                mask(shape.elements()), model(shape.elements())});
  if (casts) {  // q, k, v, r, seg_embed
    kept.insert(kept.end(), 4, weight);
    append(kept, {shape.segments ? narrow(2 * shape.hidden) : Bytes{0}});
  }
}

void XlnetMemory::keep_feed_forward(Tensors& kept) const {
  const std::int64_t elements = layer_.attention.elements(), inner = layer_.inner();
  append(kept,
         {narrow(elements), narrow(inner), mask(inner), narrow(inner), mask(elements), model(elements)});
}

Tensors XlnetMemory::kept_by_embeddings() const {
  const XlnetAttentionShape& shape = layer_.attention;
  return tensors({mask(shape.elements()), shape.masked ? model(shape.pairs()) : Bytes{0},
                  shape.segments ? model(shape.pair_segments()) : Bytes{0}, wide(shape.distances())});
}

Tensors XlnetMemory::kept_by_layer() const {
  Tensors kept;
  keep_attention(kept);
  keep_feed_forward(kept);
  return kept;
}

Tensors XlnetMemory::cast_weights_of_layer() const {
  if (!types_.casts()) {
    return {};
  }
  return Tensors(2, narrow(layer_.attention.hidden * layer_.feed_forward));
}

Tensors XlnetMemory::cached_by_layer() const {
  return {model(layer_.attention.elements())};
}

Tensors XlnetMemory::kept_by_head() const {
  return tensors({mask(layer_.attention.elements()), narrow(layer_.attention.elements()), narrow(logits()),
                  wide(logits()), types_.casts() ? narrow(logits()) : Bytes{0}});
}

Tensors XlnetMemory::cast_weights_of_head() const {
  return tensors({types_.casts() ? narrow(spec_.hidden * spec_.vocabulary) : Bytes{0}});
}

Tensors XlnetMemory::loss_forward() const {
  return tensors({is_mixed(types_.precision) && !types_.casts() ? wide(logits()) : Bytes{0}});
}

Tensors XlnetMemory::loss_backward() const {
  return tensors({wide(logits()), types_.casts() ? narrow(logits()) : wide(logits())});
}

}  // namespace lockstep
