#include "ops/workload/transformer_memory.hpp"

#include <algorithm>

#include "ops/workload/layers/gelu.hpp"

namespace lockstep {
namespace {

Bytes wide(std::int64_t elements) {
  return static_cast<double>(elements) * size_of(DataType::FP32);
}

}  // namespace

TransformerMemory::TransformerMemory(const TransformerSpec& spec, std::int64_t batch, TensorTypes types,
                                     const FrameworkSpec& framework)
    : spec_{spec},
      block_{spec.block(batch)},
      types_{types},
      is_compiled_{framework.compile != Compile::None},
      keeps_log_softmax_{!is_compiled_ || framework.compiled_loss == CompiledLoss::Stored} {}

/// Called, or found by Inductor as a pattern (CompiledTransformer).
bool TransformerMemory::has_fused_attention() const {
  return block_.attention != AttentionKernels::Unfused ||
         (is_compiled_ && block_.kind == BlockKind::Bert && !types_.casts());
}

Bytes TransformerMemory::narrow(std::int64_t elements) const {
  return static_cast<double>(elements) * size_of(storage_type(types_.precision));
}

Bytes TransformerMemory::model(std::int64_t elements) const {
  return static_cast<double>(elements) * size_of(types_.model());
}

Bytes TransformerMemory::mask(std::int64_t elements) const {
  return spec_.dropout ? static_cast<double>(elements) * size_of(DataType::BOOL) : Bytes{0};
}

std::int64_t TransformerMemory::logits() const {
  if (!spec_.classes) {
    return block_.rows() * spec_.vocabulary;
  }
  return (spec_.family == TransformerFamily::Bert ? block_.batch : block_.rows()) * *spec_.classes;
}

std::int64_t TransformerMemory::judged_logits() const {
  if (spec_.classes) {
    return block_.batch * *spec_.classes;
  }
  const bool is_shifted =
      spec_.family != TransformerFamily::Bert && spec_.shifts_logits;  // the last token has no next one
  return (block_.rows() - (is_shifted ? block_.batch : 0)) * spec_.vocabulary;
}

Bytes TransformerMemory::kept_by_attention() const {
  const Bytes tokens = narrow(4 * block_.elements());
  const std::int64_t rows = block_.rows() * block_.heads;
  if (has_fused_attention()) {
    return tokens + wide(rows);
  }
  const std::int64_t scores = rows * block_.sequence;
  const bool read_apart = spec_.dropout || types_.casts();  // what the product reads is not softmax's result
  const Bytes softmax = is_compiled_ && types_.casts() ? narrow(scores) : model(scores);
  return tokens + softmax + mask(scores) + (read_apart ? narrow(scores) : Bytes{0});
}

Bytes TransformerMemory::kept_by_gelu(std::int64_t elements) const {
  return narrow(elements) +
         (block_.gelu == Gelu::Composed ? model((is_compiled_ ? 1 : 3) * elements) : Bytes{0});
}

Bytes TransformerMemory::kept_by_block() const {
  const std::int64_t stream = block_.elements(), inner = block_.rows() * block_.feed_forward;
  const bool casts_thrice = block_.kind == BlockKind::Bert && types_.casts() && !is_compiled_;
  const Bytes norms = model(2 * stream);
  const Bytes linears =
      narrow((casts_thrice ? 3 : 1) * stream + stream + inner);  // projections, two of feed-forward
  const bool is_relu = block_.kind == BlockKind::Opt;  // whose result is what the next product keeps
  return norms + linears + kept_by_attention() + mask(2 * stream) +
         (is_relu ? Bytes{0} : kept_by_gelu(inner));
}

Bytes TransformerMemory::cast_weights_of_block() const {
  const std::int64_t h = block_.hidden, f = block_.feed_forward;
  return types_.casts() ? narrow(4 * h * h + 2 * h * f) : Bytes{0};
}

Bytes TransformerMemory::kept_by_embeddings() const {
  const Bytes norm = spec_.family == TransformerFamily::Bert ? model(block_.elements()) : Bytes{0};
  return norm + (spec_.family == TransformerFamily::Opt ? Bytes{0} : mask(block_.elements()));
}

Bytes TransformerMemory::kept_by_head() const {
  const std::int64_t stream = block_.elements(), pooled = block_.batch * block_.hidden;
  if (spec_.classes && spec_.family == TransformerFamily::Bert) {  // the pooler reads the first tokens where
                                                                   // they are; tanh, dropout, log-softmax
    return model(stream) + narrow(2 * pooled) + mask(pooled) +
           (keeps_log_softmax_ ? wide(logits()) : narrow(logits()));
  }
  Bytes kept = model(stream) + narrow(stream) + narrow(logits()) +
               (keeps_log_softmax_ ? wide(judged_logits()) : Bytes{0});
  if (spec_.family == TransformerFamily::Bert) {  // a dense layer and GELU before the norm
    kept += narrow(stream) + kept_by_gelu(stream);
  }
  return kept;
}

Bytes TransformerMemory::cast_weights_of_head() const {
  const std::int64_t h = spec_.hidden;
  const std::int64_t dense = spec_.family == TransformerFamily::Bert ? h * h : 0;  // or the pooler's
  return types_.casts() ? narrow(h * spec_.classes.value_or(spec_.vocabulary) + dense) : Bytes{0};
}

Bytes TransformerMemory::loss_forward() const {
  if (is_compiled_) {
    return Bytes{0};
  }
  const bool copies = spec_.family != TransformerFamily::Bert && !spec_.classes && block_.batch > 1;
  return (copies ? narrow(judged_logits()) : Bytes{0}) +
         (is_mixed(types_.precision) ? wide(judged_logits()) : Bytes{0});
}

Bytes TransformerMemory::loss_backward() const {
  // Compiled: what the labels pick, zeros for the returned logits, the gradient in their type.
  const Bytes picked = keeps_log_softmax_ ? wide(judged_logits()) : Bytes{0};
  return is_compiled_ ? picked + narrow(2 * logits()) : wide(2 * judged_logits());
}

}  // namespace lockstep
