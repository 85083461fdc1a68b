#include "ops/workload/transformer_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "ops/workload/model_sizes.hpp"

namespace lockstep {

void LatentAttentionSpec::check() const {
  if (query_rank.value_or(1) < 1 || key_value_rank < 1 || rotary_size < 1 || value_size < 1) {
    throw FieldError{"query_rank", "widths of latent attention are at least 1"};
  }
}

namespace {

/// GPT-NeoX's layers.
void check_neox_layers(const TransformerSpec& model) {
  if (!model.bias_dropout_fusion && model.implementation != Implementation::Megatron) {
    throw FieldError{
        "bias_dropout_fusion",
        "'bias_dropout_fusion: false' is for models of 'implementation: megatron'; those of others "
        "never fuse"};
  }
  if (model.packs_qkv && (model.attention != AttentionKernels::Flash1Cuda || model.latent_attention)) {
    throw FieldError{"packs_qkv",
                     "one tensor of queries, keys and values is what FlashAttention 1 takes: it needs "
                     "'attention: flash_1_cuda' without latent attention"};
  }
}

void check_megatron_only(const TransformerSpec& model) {
  check_neox_layers(model);
  const bool is_megatron = model.implementation == Implementation::Megatron;
  const bool is_rotary = is_megatron && model.position_encoding == PositionEncoding::Rotary;
  if (!(model.rotary_share > 0) || model.rotary_share > 1) {
    throw FieldError{"rotary_share", fmt::format("more than 0 and at most 1, not {:g}", model.rotary_share)};
  }
  if (!is_rotary && model.rotary_share < 1) {
    throw FieldError{"rotary_share",
                     "less than 1 needs 'implementation: megatron' and 'position_encoding: rotary'"};
  }
  if (!is_rotary && !model.fused_rotary) {
    throw FieldError{
        "fused_rotary",
        "'fused_rotary: false' needs 'implementation: megatron' and 'position_encoding: rotary'; "
        "Llamas of others are rotated as their code does it"};
  }
  const bool is_in_operators = model.norm_kernels == NormKernels::Operators;
  if (model.norm_kernels != NormKernels::Persistent && !is_megatron) {
    throw FieldError{"norm_kernels",
                     "is for models of 'implementation: megatron'; those of others have their own"};
  }
  if (is_in_operators && (model.normalisation != Normalisation::Rms || model.latent_attention)) {
    throw FieldError{
        "norm_kernels",
        "'operators' needs 'normalisation: rms' without latent attention; layer norm is one kernel"};
  }
  if (model.qk_norm && (!is_megatron || is_in_operators || model.latent_attention)) {
    throw FieldError{
        "qk_norm",
        "queries and keys are normalised by head in models of 'implementation: megatron' with fused "
        "norms and without latent attention"};
  }
  if (model.qkv_bias && (!is_megatron || model.bias || model.latent_attention)) {
    throw FieldError{
        "qkv_bias",
        "'qkv_bias: true' is for models of 'implementation: megatron' with 'bias: false' and without "
        "latent attention"};
  }
  if (!model.fused_activation && (!is_megatron || model.experts)) {
    throw FieldError{"fused_activation",
                     "'fused_activation: false' is for dense models of 'implementation: megatron'"};
  }
  if (model.latent_attention && (model.rotary_share < 1 || !model.fused_rotary)) {
    throw FieldError{model.fused_rotary ? "rotary_share" : "fused_rotary",
                     "latent attention says itself what is rotated ('rotary_size'), in one kernel"};
  }
  const bool is_dense_decoder = is_megatron && model.family == TransformerFamily::Gpt && !model.experts;
  if (model.residual != Residual::Serial && !is_dense_decoder) {
    throw FieldError{"residual",
                     "attention and feed-forward layer are beside each other in dense models of "
                     "'implementation: megatron', 'family: gpt'"};
  }
}

void check_llama(const TransformerSpec& model) {
  const bool is_hugging_face = model.implementation == Implementation::HuggingFaceLlama;
  const bool is_known = model.attention == AttentionKernels::Flash ||
                        (is_hugging_face && (model.attention == AttentionKernels::Unfused ||
                                             model.attention == AttentionKernels::CuDnn ||
                                             model.attention == AttentionKernels::Efficient));
  const bool is_llama = model.family == TransformerFamily::Gpt && model.normalisation == Normalisation::Rms &&
                        model.activation == Activation::SwiGlu &&
                        model.position_encoding == PositionEncoding::Rotary && is_known && !model.bias &&
                        !model.dropout && !model.experts && !model.latent_attention;
  if (!is_llama) {
    throw FieldError{
        "implementation",
        fmt::format("{} is its Llama: 'family: gpt', 'normalisation: rms', 'activation: swiglu', "
                    "'position_encoding: rotary', 'attention: flash'{}, 'bias: false', 'dropout: false', "
                    "neither experts nor latent attention",
                    name_of(model.implementation), is_hugging_face ? ", cudnn, efficient or unfused" : "")};
  }
  if (!model.repeats_kv_heads &&
      (model.attention == AttentionKernels::Unfused || model.attention == AttentionKernels::Efficient)) {
    throw FieldError{"repeats_kv_heads",
                     fmt::format("{} attention multiplies each head's queries with keys of its own: only "
                                 "'attention: flash' and 'cudnn' go without repeated heads",
                                 name_of(model.attention))};
  }
}

/// Plain modules call scaled_dot_product_attention, without masks and segments.
void check_plain(const TransformerSpec& model) {
  if (model.attention == AttentionKernels::Unfused) {
    throw FieldError{
        "attention",
        "'implementation: pytorch' calls scaled_dot_product_attention: say which kernel it takes, "
        "'cudnn' (16 bits on Hopper), 'flash' or 'efficient' (FP32 and TF32)"};
  }
  if (model.token_types > 0) {
    throw FieldError{"token_types",
                     "'implementation: pytorch' has no segments: say 'token_types: 0', or 'hugging_face'"};
  }
}

/// GPT-2, BERT and OPT have none of these.
void check_modules(const TransformerSpec& model) {
  struct Other {
    const char* key;
    bool is_said;
  };
  for (const auto& [key, is_said] : std::initializer_list<Other>{
           {"kv_heads", model.kv_heads.has_value()},
           {"head_size", model.head_size.has_value()},
           {"normalisation", model.normalisation != Normalisation::Layer},
           {"activation", model.activation != Activation::Gelu},
           {"position_encoding", model.position_encoding != PositionEncoding::Learned},
           {"bias", !model.bias},
           {"tied", !model.tied && model.is_plain()},
           {"experts", model.experts.has_value()},
           {"latent_attention", model.latent_attention.has_value()}}) {
    if (is_said) {
      throw FieldError{
          key, fmt::format("'{}' is as GPT-2, BERT and OPT have it in 'implementation: {}'; Llama and "
                           "its like are 'hugging_face_llama', other models 'megatron'",
                           key, name_of(model.implementation))};
    }
  }
  if (model.is_plain()) {
    check_plain(model);
  }
  if (!model.tied && model.classes) {
    throw FieldError{"tied", "of a model with 'classes' no output predicts tokens: leave 'tied' out"};
  }
}

}  // namespace

void TransformerSpec::check_implementation() const {
  const bool flash_1 = attention == AttentionKernels::Flash1, flash_3 = attention == AttentionKernels::Flash3;
  const bool flash_1_cuda = attention == AttentionKernels::Flash1Cuda;
  if ((flash_1 || flash_1_cuda || flash_3) && (implementation != Implementation::Megatron || dropout)) {
    throw FieldError{
        "attention",
        fmt::format("'{}' is {} which only Megatron's layers call here: it needs 'implementation: megatron' "
                    "and 'dropout: false'",
                    name_of(attention),
                    flash_1        ? "FlashAttention 1 in Triton, which has no dropout and"
                    : flash_1_cuda ? "FlashAttention 1 in CUDA, whose dropout is not known and"
                                   : "FlashAttention-3, which has no dropout and")};
  }
  const bool cudnn = attention == AttentionKernels::CuDnn,
             efficient = attention == AttentionKernels::Efficient;
  const bool is_in_sdpa = is_in_modules() || implementation == Implementation::HuggingFaceLlama;
  if (!is_in_sdpa && (efficient || (cudnn && implementation != Implementation::Megatron))) {
    throw FieldError{"attention",
                     fmt::format("'{}' is for 'implementation: hugging_face', 'hugging_face_llama'{} or "
                                 "'pytorch'",
                                 name_of(attention), cudnn ? ", 'megatron'" : "")};
  }
  if (family == TransformerFamily::Opt &&
      (implementation != Implementation::HuggingFace || attention != AttentionKernels::Unfused)) {
    throw FieldError{"family",
                     "'opt' is Hugging Face's code, whose attention is unfused; write it as 'family: gpt' "
                     "for 'implementation: megatron' or 'attention: flash'"};
  }
  check_megatron_only(*this);
  if (implementation != Implementation::HuggingFaceLlama && !repeats_kv_heads) {
    throw FieldError{"repeats_kv_heads",
                     "'repeats_kv_heads: false' is for 'implementation: hugging_face_llama'"};
  }
  if (implementation == Implementation::Nanotron || implementation == Implementation::TorchTitan ||
      implementation == Implementation::HuggingFaceLlama) {
    check_llama(*this);
    return;
  }
  if (implementation == Implementation::Megatron) {
    if (experts && experts->dense_layers >= layers) {
      throw FieldError{"experts", fmt::format("'dense_layers: {}' leaves none of {} layers to experts",
                                              experts->dense_layers, layers)};
    }
    if (experts && bias) {
      throw FieldError{"bias", "experts have no biases here, so that no layer has: 'bias: false'"};
    }
    if (family == TransformerFamily::Bert && (token_types > 0 || experts)) {
      throw FieldError{"implementation", "megatron's encoder has neither token types nor experts"};
    }
    if (latent_attention && (kv_heads || position_encoding != PositionEncoding::Rotary)) {
      throw FieldError{"latent_attention", "latent attention has rotary positions and no kv_heads"};
    }
    return;
  }
  check_modules(*this);
}

namespace {

void check_classes_of(const TransformerSpec& model) {
  const bool is_opt = model.family == TransformerFamily::Opt;
  if (model.classes && (is_opt || model.implementation != Implementation::HuggingFace)) {
    throw FieldError{"classes",
                     "samples are classified by 'family: bert' and 'family: gpt' with 'implementation: "
                     "hugging_face' only"};
  }
  if (model.classified == Classified::Tokens && !model.classes) {
    throw FieldError{"classified",
                     "says what of a model with 'classes' is classified: say how many there are"};
  }
  const bool has_mask =
      (model.implementation == Implementation::HuggingFace && model.attention == AttentionKernels::Unfused) ||
      (model.implementation == Implementation::HuggingFaceLlama &&
       model.attention == AttentionKernels::Efficient);
  if (model.attention_mask && (model.family != TransformerFamily::Gpt || !has_mask)) {
    throw FieldError{"attention_mask",
                     "is for 'family: gpt', 'implementation: hugging_face' with unfused attention, and for "
                     "'hugging_face_llama' with 'attention: efficient': BERT and OPT always have one, flash "
                     "attention goes without"};
  }
  if (model.class_indices_on_host &&
      (!model.classifies_samples() || model.family != TransformerFamily::Gpt)) {
    throw FieldError{"class_indices_on_host",
                     "is about the logits that 'family: gpt' with 'classes' of samples picks"};
  }
}

void check_loss_of(const TransformerSpec& model) {
  if (model.fused_loss && model.implementation != Implementation::Megatron) {
    throw FieldError{"fused_loss",
                     "'fused_loss' takes the place of Megatron-LM's cross entropy: it needs "
                     "'implementation: megatron'"};
  }
  const bool may_say = model.is_in_modules() || model.implementation == Implementation::HuggingFaceLlama;
  if (!model.shifts_logits && (!may_say || model.family != TransformerFamily::Gpt)) {
    throw FieldError{"shifts_logits",
                     "'shifts_logits: false' is for 'family: gpt', 'implementation: hugging_face' or "
                     "'hugging_face_llama': the loss of the others shifts nothing"};
  }
  if (model.input_on_device && !model.is_in_modules()) {
    throw FieldError{"input_on_device",
                     "is for 'implementation: hugging_face' and 'pytorch': loaders of the others copy"};
  }
}

}  // namespace

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
  positive("classes", classes.value_or(1));
  positive("kv_heads", kv_heads.value_or(1));
  positive("head_size", head_size.value_or(1));
  check_sizes(*this);
  if (!head_size && hidden % heads != 0) {
    throw FieldError{"heads", fmt::format("{} heads do not divide a hidden width of {}", heads, hidden)};
  }
  if (sequence < 2 || sequence > positions) {
    throw FieldError{"sequence", fmt::format("must be between 2 and the model's {} positions, not {}",
                                             positions, sequence)};
  }
  if (heads % key_value_heads() != 0) {
    throw FieldError{"kv_heads",
                     fmt::format("{} heads of keys and values do not divide {} heads", *kv_heads, heads)};
  }
  check_implementation();
  check_fine_tuning();
  check_classes_of(*this);
  check_loss_of(*this);
  if (token_types < 0 || (family != TransformerFamily::Bert && token_types > 0)) {
    throw FieldError{"token_types", "'token_types' is not negative, and 0 for a decoder"};
  }
}

namespace {

BlockKind kind_of(TransformerFamily family, bool is_plain) {
  switch (family) {
    case TransformerFamily::Gpt:
      return is_plain ? BlockKind::Decoder : BlockKind::Gpt;
    case TransformerFamily::Bert:
      return is_plain ? BlockKind::Encoder : BlockKind::Bert;
    case TransformerFamily::Opt:
      return BlockKind::Opt;
  }
  return BlockKind::Gpt;
}

}  // namespace

std::int64_t TransformerSpec::position_rows() const {
  constexpr std::int64_t kOptOffset = 2;  // OPTLearnedPositionalEmbedding: positions begin at 2
  return positions + (family == TransformerFamily::Opt ? kOptOffset : 0);
}

BlockShape TransformerSpec::block(std::int64_t batch) const {
  return {.kind = kind_of(family, is_plain()),
          .batch = batch,
          .sequence = sequence,
          .hidden = hidden,
          .heads = heads,
          .feed_forward = feed_forward.value_or(4 * hidden),
          .dropout = dropout,
          .gelu = gelu,
          .attention = attention,
          .attention_mask = attention_mask};
}

bool TransformerSpec::is_matrix(std::int64_t elements) const {
  const std::array vectors{hidden, 3 * hidden, feed_forward.value_or(4 * hidden), vocabulary,
                           classes.value_or(hidden)};
  return std::find(vectors.begin(), vectors.end(), elements) == vectors.end();
}

std::vector<std::int64_t> TransformerSpec::parameters() const {
  std::vector<std::int64_t> all = embedding_parameters();
  const std::vector<std::int64_t> of_block = parameters_of(block(1)), of_head = head_parameters();
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    all.insert(all.end(), of_block.begin(), of_block.end());
  }
  all.insert(all.end(), of_head.begin(), of_head.end());
  return all;
}

std::vector<std::int64_t> TransformerSpec::embedding_parameters() const {
  std::vector<std::int64_t> all{vocabulary * hidden, position_rows() * hidden};
  if (token_types > 0) {
    all.push_back(token_types * hidden);
  }
  if (family == TransformerFamily::Bert && !is_plain()) {
    all.insert(all.end(), {hidden, hidden});
  }
  return all;
}

std::vector<std::int64_t> TransformerSpec::head_parameters() const {
  const bool is_bert = family == TransformerFamily::Bert && !is_plain();
  std::vector<std::int64_t> all;
  if (!tied) {
    all.push_back(vocabulary * hidden);
  }
  if (classes && classified == Classified::Tokens) {  // GPT-2's last normalisation, and classifier
    all.insert(all.end(), is_bert ? 0U : 2U, hidden);
    all.insert(all.end(), {*classes * hidden, *classes});
  } else if (classes && is_bert) {  // pooler and classifier
    all.insert(all.end(), {hidden * hidden, hidden, *classes * hidden, *classes});
  } else if (classes) {  // last normalisation and classifier
    all.insert(all.end(), {hidden, hidden, *classes * hidden});
  } else if (is_bert) {  // the head: bias of the output, dense layer, normalisation
    all.insert(all.end(), {vocabulary, hidden * hidden, hidden, hidden, hidden});
  } else {
    all.insert(all.end(), {hidden, hidden});
  }
  return all;
}

}  // namespace lockstep
