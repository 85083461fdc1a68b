#include "ops/workload/transformer_memory.hpp"

#include "ops/workload/layers/gelu.hpp"

namespace lockstep {
TransformerMemory::TransformerMemory(const TransformerSpec& spec, std::int64_t batch, TensorTypes types,
                                     const FrameworkSpec& framework)
    : TensorSizes{types, spec.dropout},
      spec_{spec},
      block_{spec.block(batch)},
      is_compiled_{framework.compile != Compile::None},
      compiles_loss_{is_compiled_ && framework.compiled_loss != CompiledLoss::Eager},
      keeps_log_softmax_{!compiles_loss_ || framework.compiled_loss == CompiledLoss::Stored},
      shifts_labels_{spec.judges_next_tokens() && framework.transformers == Transformers::V5} {}

/// Called, or found by Inductor as a pattern (CompiledTransformer).
bool TransformerMemory::has_fused_attention() const {
  return block_.attention != AttentionKernels::Unfused ||
         (is_compiled_ && block_.kind == BlockKind::Bert && !types_.casts());
}

std::int64_t TransformerMemory::logits() const {
  if (!spec_.classes) {
    return block_.rows() * spec_.vocabulary;
  }
  const bool pooled = spec_.classifies_samples() && spec_.family == TransformerFamily::Bert;
  return (pooled ? block_.batch : block_.rows()) * *spec_.classes;
}

std::int64_t TransformerMemory::judged_logits() const {
  if (spec_.classes) {
    return (spec_.classifies_samples() ? block_.batch : block_.rows()) * *spec_.classes;
  }
  return (block_.rows() - (shifts_logits() ? block_.batch : 0)) * spec_.vocabulary;
}

/// Projections of the attention and its result: GPT-2's queries, keys and values are parts of one tensor.
Tensors TransformerMemory::kept_by_attention() const {
  const Bytes one = narrow(block_.elements());
  Tensors kept = block_.packs_projections() ? Tensors{3.0 * one, one} : Tensors{one, one, one, one};
  const std::int64_t rows = block_.rows() * block_.heads;
  if (has_fused_attention()) {
    append(kept, {wide(rows)});
    return kept;
  }
  const std::int64_t scores = rows * block_.sequence;
  const bool read_apart = dropout_ || types_.casts();  // what the product reads is not softmax's result
  const Bytes softmax = is_compiled_ && types_.casts() ? narrow(scores) : model(scores);
  append(kept, tensors({softmax, mask(scores), read_apart ? narrow(scores) : Bytes{0}}));
  return kept;
}

Tensors TransformerMemory::kept_by_gelu(std::int64_t elements) const {
  Tensors kept{narrow(elements)};
  if (block_.gelu == Gelu::Composed) {
    kept.insert(kept.end(), is_compiled_ ? 1 : 3, model(elements));
  }
  return kept;
}

Tensors TransformerMemory::kept_by_block() const {
  const std::int64_t stream = block_.elements(), inner = block_.rows() * block_.feed_forward;
  const bool casts_thrice = block_.kind == BlockKind::Bert && types_.casts() && !is_compiled_;
  Tensors kept(2, model(stream));                                 // norms
  kept.insert(kept.end(), casts_thrice ? 4 : 2, narrow(stream));  // projections, first of feed-forward
  append(kept, {narrow(inner)});                                  // second
  append(kept, kept_by_attention());
  append(kept, tensors({mask(stream), mask(stream)}));
  const bool is_relu = block_.kind == BlockKind::Opt;  // whose result is what the next product keeps
  if (!is_relu) {
    append(kept, kept_by_gelu(inner));
  }
  return kept;
}

Tensors TransformerMemory::input_of_block() const {
  return tensors({model(block_.elements())});
}

Tensors TransformerMemory::cast_weights_of_block() const {
  const std::int64_t h = block_.hidden, f = block_.feed_forward;
  if (!types_.casts()) {
    return {};
  }
  Tensors cast = block_.packs_projections() ? Tensors{narrow(3 * h * h)} : Tensors(3, narrow(h * h));
  append(cast, {narrow(h * h), narrow(h * f), narrow(h * f)});
  return cast;
}

Tensors TransformerMemory::kept_by_embeddings() const {
  const Bytes norm = block_.kind == BlockKind::Bert ? model(block_.elements()) : Bytes{0};
  return tensors({norm, spec_.family == TransformerFamily::Opt ? Bytes{0} : mask(block_.elements())});
}

Tensors TransformerMemory::kept_by_head() const {
  const std::int64_t stream = block_.elements(), pooled = block_.batch * block_.hidden;
  if (spec_.classes && !spec_.classifies_samples()) {  // GPT-2's last norm; dropout, log-softmax
    const bool is_bert = spec_.family == TransformerFamily::Bert;
    return tensors(
        {is_bert ? Bytes{0} : model(stream), narrow(stream), mask(stream), narrow(logits()), wide(logits())});
  }
  if (spec_.classes && spec_.family == TransformerFamily::Bert) {  // the pooler reads the first tokens where
                                                                   // they are; tanh, dropout, log-softmax
    return tensors({model(stream), narrow(pooled), narrow(pooled), mask(pooled),
                    keeps_log_softmax_ ? wide(logits()) : narrow(logits())});
  }
  Tensors kept = tensors({model(stream), narrow(stream)});
  if (block_.kind == BlockKind::Bert) {  // a dense layer and GELU before the norm
    append(kept, {narrow(stream)});
    append(kept, kept_by_gelu(stream));
  }
  const bool keeps_both = keeps_log_softmax_ && softmax_is_narrow();  // and what nll_loss reads
  append(kept, tensors({narrow(logits()), keeps_log_softmax_ ? wide(judged_logits()) : Bytes{0},
                        keeps_both ? narrow(judged_logits()) : Bytes{0}}));
  return kept;
}

Tensors TransformerMemory::cast_weights_of_head() const {
  const std::int64_t h = spec_.hidden;
  if (!types_.casts()) {
    return {};
  }
  const bool has_dense =
      block_.kind == BlockKind::Bert && (!spec_.classes || spec_.classifies_samples());  // or a pooler
  return tensors(
      {has_dense ? narrow(h * h) : Bytes{0}, narrow(h * spec_.classes.value_or(spec_.vocabulary))});
}

Tensors TransformerMemory::loss_forward() const {
  if (compiles_loss_) {
    return {};
  }
  const bool copies = shifts_logits() && block_.batch > 1;
  const bool casts_logits = is_mixed(types_.precision) && !softmax_is_narrow();
  return tensors(
      {copies ? narrow(judged_logits()) : Bytes{0}, casts_logits ? wide(judged_logits()) : Bytes{0}});
}

Tensors TransformerMemory::loss_backward() const {
  // Compiled: what the labels pick, zeros for the returned logits, the gradient in their type.
  const Bytes picked = keeps_log_softmax_ ? wide(judged_logits()) : Bytes{0};
  const Bytes gradient = compiles_loss_ ? narrow(logits()) : wide(judged_logits());
  return tensors({compiles_loss_ ? picked : Bytes{0}, gradient,
                  softmax_is_narrow() ? narrow(judged_logits()) : gradient});
}

}  // namespace lockstep
