#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/parameters.hpp"
#include "ops/workload/layers/attention.hpp"
#include "ops/workload/layers/classifier.hpp"
#include "ops/workload/layers/gelu.hpp"
#include "ops/workload/layers/transformer_block.hpp"
#include "ops/workload/lora_spec.hpp"

namespace lockstep {

enum class TransformerFamily : std::uint8_t {
  Gpt,   ///< decoder: causal, next-token loss (Hugging Face GPT2LMHeadModel)
  Bert,  ///< encoder: masked-token loss (Hugging Face BertForMaskedLM)
  Opt,   ///< decoder with three projections and ReLU (Hugging Face OPTForCausalLM)
};
constexpr auto names_of(TransformerFamily) {
  return std::to_array<EnumName<TransformerFamily>>(
      {{TransformerFamily::Gpt, "gpt"}, {TransformerFamily::Bert, "bert"}, {TransformerFamily::Opt, "opt"}});
}

/// Who wrote the code that is run.
enum class Implementation : std::uint8_t {
  HuggingFace,  ///< transformers' GPT-2 and BERT, eager, under autocast; data-parallel only
  Megatron,     ///< Megatron-LM's fused layers with parameters in the type of matrix products; any plan
  Nanotron,     ///< Hugging Face's nanotron, its Llama: sharded like Megatron's, in eager kernels; any plan
  TorchTitan,   ///< Meta's Llama as torchtitan and fms-fsdp train it: an eager kernel for each operator; FSDP
  HuggingFaceLlama,  ///< transformers' LlamaForCausalLM, eager; data-parallel, with ZeRO or FSDP
  PyTorch,           ///< a GPT or an encoder of torch.nn's modules, as nanoGPT's; data-parallel only
};
constexpr auto names_of(Implementation) {
  return std::to_array<EnumName<Implementation>>({{Implementation::HuggingFace, "hugging_face"},
                                                  {Implementation::Megatron, "megatron"},
                                                  {Implementation::Nanotron, "nanotron"},
                                                  {Implementation::TorchTitan, "torchtitan"},
                                                  {Implementation::HuggingFaceLlama, "hugging_face_llama"},
                                                  {Implementation::PyTorch, "pytorch"}});
}

enum class Normalisation : std::uint8_t { Layer, Rms };
constexpr auto names_of(Normalisation) {
  return std::to_array<EnumName<Normalisation>>(
      {{Normalisation::Layer, "layer"}, {Normalisation::Rms, "rms"}});
}

/// Kernels that normalise in a model of `implementation: megatron`.
enum class NormKernels : std::uint8_t {
  Persistent,  ///< a block keeps its row in registers, backward reads its inputs once
  Apex,        ///< Apex's FusedLayerNorm, an element a thread
  Pytorch,     ///< aten::layer_norm
  Operators,   ///< an operator each, in FP32
};
constexpr auto names_of(NormKernels) {
  return std::to_array<EnumName<NormKernels>>({{NormKernels::Persistent, "persistent"},
                                               {NormKernels::Apex, "apex"},
                                               {NormKernels::Pytorch, "pytorch"},
                                               {NormKernels::Operators, "operators"}});
}

enum class Activation : std::uint8_t {
  Gelu,
  SwiGlu,  ///< silu(x U) * (x V): two products in, one out (Shazeer, arXiv 2002.05202)
};
constexpr auto names_of(Activation) {
  return std::to_array<EnumName<Activation>>({{Activation::Gelu, "gelu"}, {Activation::SwiGlu, "swiglu"}});
}

enum class PositionEncoding : std::uint8_t {
  Learned,
  Rotary,  ///< queries and keys are rotated (Su et al., arXiv 2104.09864)
  Alibi,   ///< attention adds a slope (Press et al., arXiv 2108.12409)
};
constexpr auto names_of(PositionEncoding) {
  return std::to_array<EnumName<PositionEncoding>>({{PositionEncoding::Learned, "learned"},
                                                    {PositionEncoding::Rotary, "rotary"},
                                                    {PositionEncoding::Alibi, "alibi"}});
}

/// Input of a feed-forward layer: behind attention and its own norm; beside it behind a norm of its own or
/// attention's. Beside each other they are summed before tensor-parallel ranks do, once.
enum class Residual : std::uint8_t { Serial, Parallel, ParallelOneNorm };
constexpr auto names_of(Residual) {
  return std::to_array<EnumName<Residual>>({{Residual::Serial, "serial"},
                                            {Residual::Parallel, "parallel"},
                                            {Residual::ParallelOneNorm, "parallel_one_norm"}});
}

/// The thing that a model classifies: a sample (BertForSequenceClassification,
/// GPT2ForSequenceClassification) or each of its tokens (BertForTokenClassification,
/// GPT2ForTokenClassification).
enum class Classified : std::uint8_t { Samples, Tokens };
constexpr auto names_of(Classified) {
  return std::to_array<EnumName<Classified>>(
      {{Classified::Samples, "samples"}, {Classified::Tokens, "tokens"}});
}

/// Feed-forward layers of which each token uses a few (Fedus et al., arXiv 2101.03961).
struct ExpertsSpec {
  std::int64_t count = 0, per_token = 0, feed_forward = 0, shared = 0, dense_layers = 0;
  double capacity = 1, imbalance = 1;
  std::uint64_t seed = 0;
  bool fused_permutation = true, dropless = false, auxiliary_loss = true, fused_router = false,
       grouped = true, weighted_activation = false;

  /// The host knows how many tokens an expert gets: as many as it has room for.
  [[nodiscard]] bool are_padded() const { return !dropless && imbalance == 1; }
  /// Uneven loads lose what is beyond the capacity, without padding.
  [[nodiscard]] bool drops() const { return imbalance > 1 && capacity > 1; }

  template <class Visitor>
  static void describe(Visitor& key, ExpertsSpec& experts) {
    key.required("count", experts.count, "experts of a layer");
    key.required("per_token", experts.per_token, "experts that a token is sent to");
    key.required("feed_forward", experts.feed_forward, "width of an expert");
    key.optional("shared", experts.shared, 0, "experts that every token uses besides");
    key.optional("dense_layers", experts.dense_layers, 0, "layers at the beginning that have none");
    key.optional(
        "capacity", experts.capacity, 1,
        "tokens that an expert has room for, over the mean: even loads are padded to it; uneven ones lose "
        "what is beyond it, and 1 keeps all");
    key.optional("imbalance", experts.imbalance, 1,
                 "tokens of the expert with most, over the mean: loads follow Zipf's law; 1 is even");
    key.optional("seed", experts.seed, 0,
                 "draws which experts of each layer have most, when loads are uneven");
    key.optional(
        "fused_permutation", experts.fused_permutation, true,
        "one kernel copies tokens for their experts and one sums what comes back (Transformer Engine "
        "since 2.1, Megatron-LM --moe-permute-fusion); else PyTorch's operators do");
    key.optional(
        "dropless", experts.dropless, false,
        "experts have room for all tokens, whose numbers the host waits for in every layer; else even "
        "loads are padded to 'capacity'");
    key.optional(
        "grouped", experts.grouped, true,
        "experts' products are launched on four streams in turn (Transformer Engine's GroupedLinear, "
        "Megatron-LM --moe-grouped-gemm); else expert after expert (SequentialMLP)");
    key.optional(
        "weighted_activation", experts.weighted_activation, false,
        "the router's probabilities go to the experts with the tokens and multiply what the activation "
        "leaves (Megatron-LM since core 0.12); else they multiply the experts' results where these are "
        "summed");
    key.optional("auxiliary_loss", experts.auxiliary_loss, true,
                 "the router's loss of uneven loads (Megatron-LM --moe-aux-loss-coeff)");
    key.optional("fused_router", experts.fused_router, false,
                 "one kernel chooses the experts (Transformer Engine since 2.7, Megatron-LM "
                 "--moe-router-fusion); else PyTorch's operators do");
  }
  void check() const;
};

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): queries, keys and values come
/// from narrow vectors; a part of queries and keys is rotated.
struct LatentAttentionSpec {
  std::optional<std::int64_t> query_rank;
  std::int64_t key_value_rank = 0, rotary_size = 0, value_size = 0;

  template <class Visitor>
  static void describe(Visitor& key, LatentAttentionSpec& latent) {
    key.optional("query_rank", latent.query_rank, std::nullopt,
                 "width of the vector that queries are made from; left out, one product makes them of the "
                 "layer's input (DeepSeek-V2-Lite)");
    key.required("key_value_rank", latent.key_value_rank, "width of the one of keys and values");
    key.required("rotary_size", latent.rotary_size,
                 "of a head's query and key, what is rotated, besides head_size");
    key.required("value_size", latent.value_size, "of a head's value");
  }
  void check() const;
};

/// A decoder or encoder made of attention and feed-forward layers, trained with AdamW. Hugging Face's: GPT-2
/// (Radford et al. 2019), BERT (Devlin et al., arXiv 1810.04805) and OPT (Zhang et al., arXiv 2205.01068).
struct TransformerSpec {
  TransformerFamily family = TransformerFamily::Gpt;
  std::int64_t layers = 0, hidden = 0, heads = 0, vocabulary = 0, positions = 0, sequence = 0;
  std::optional<std::int64_t> feed_forward;
  std::int64_t token_types = 0;
  std::optional<std::int64_t> classes;
  Classified classified = Classified::Samples;
  bool class_indices_on_host = false, attention_mask = false;
  Implementation implementation = Implementation::HuggingFace;
  std::optional<std::int64_t> kv_heads, head_size;
  Normalisation normalisation = Normalisation::Layer;
  Activation activation = Activation::Gelu;
  PositionEncoding position_encoding = PositionEncoding::Learned;
  double rotary_share = 1;
  NormKernels norm_kernels = NormKernels::Persistent;
  bool fused_rotary = true, fused_activation = true, bias_dropout_fusion = true, packs_qkv = false;
  bool qk_norm = false, qkv_bias = false;
  Residual residual = Residual::Serial;
  bool bias = true, tied = true;
  std::optional<ExpertsSpec> experts;
  std::optional<LatentAttentionSpec> latent_attention;
  std::optional<LoraSpec> lora;
  std::int64_t packed = 1;
  Gelu gelu = Gelu::Fused;
  AttentionKernels attention = AttentionKernels::Unfused;
  bool repeats_kv_heads = true;
  bool dropout = true, shifts_logits = true, fused_loss = false;
  bool input_on_device = false, blocking_input_copies = true;
  bool loss_readback = false;

  /// Describes what layers other than GPT-2's, BERT's and OPT's have.
  template <class Visitor>
  static void describe_layers(Visitor& key, TransformerSpec& model) {
    key.optional("kv_heads", model.kv_heads, std::nullopt,
                 "heads of keys and values (grouped-query attention); as many as heads when left out");
    key.optional("head_size", model.head_size, std::nullopt, "hidden / heads when left out");
    key.optional("normalisation", model.normalisation, Normalisation::Layer, "layer or RMS norm");
    key.optional("activation", model.activation, Activation::Gelu, "between the feed-forward products");
    key.optional("position_encoding", model.position_encoding, PositionEncoding::Learned,
                 "how tokens know their places");
    key.optional("rotary_share", model.rotary_share, 1,
                 "megatron: of a head's query and key, what is rotated");
    key.optional(
        "fused_rotary", model.fused_rotary, true,
        "megatron: one kernel rotates queries and one keys (Transformer Engine, Megatron-LM since core 0.5); "
        "else PyTorch's operators do");
    key.optional(
        "norm_kernels", model.norm_kernels, NormKernels::Persistent,
        "megatron: whose kernels normalise: persistent: Transformer Engine's, and Apex's FastLayerNorm, "
        "Megatron-LM's default (persist_layer_norm); apex: FusedLayerNorm, as before it had that (2021) "
        "and with --no-persist-layer-norm; pytorch: aten::layer_norm; operators: RMS norm in FP32 as in "
        "Megatron-LM's local layers");
    key.optional("qk_norm", model.qk_norm, false,
                 "megatron: queries and keys are normalised by head (--qk-layernorm), as Qwen3's are");
    key.optional("fused_activation", model.fused_activation, true,
                 "megatron, dense: bias and activation are one kernel (bias_swiglu, since the end of 2023; "
                 "bias_gelu); else an "
                 "operator each");
    key.optional("bias_dropout_fusion", model.bias_dropout_fusion, true,
                 "megatron: bias, dropout and sum with the residual are one kernel; else an operator each "
                 "(--no-bias-dropout-fusion; GPT-NeoX's default)");
    key.optional("packs_qkv", model.packs_qkv, false,
                 "flash_1_cuda: queries, keys and values are copied into one tensor with samples before "
                 "tokens, and the context back, as GPT-NeoX calls FlashAttention 1");
    key.optional("residual", model.residual, Residual::Serial,
                 "megatron, dense: serial: the feed-forward layer reads the sum of attention and the layer's "
                 "input; parallel: "
                 "it reads the input, and both are summed (GPT-NeoX); parallel_one_norm: likewise behind one "
                 "norm (GPT-J, Falcon)");
    key.optional("bias", model.bias, true, "whether products add one");
    key.optional("qkv_bias", model.qkv_bias, false,
                 "megatron, bias: false: the product of queries, keys and values adds one all the same "
                 "(--add-qkv-bias), as Qwen's up to 2.5 does");
    key.optional("tied", model.tied, true,
                 "the output uses the token embedding's weight (of Hugging Face's models, too)");
    key.optional("experts", model.experts, std::nullopt, "mixture of experts");
    key.optional("latent_attention", model.latent_attention, std::nullopt, "multi-head latent attention");
  }

  /// Describes the training loop.
  template <class Visitor>
  static void describe_loop(Visitor& key, TransformerSpec& model) {
    key.optional(
        "input_on_device", model.input_on_device, false,
        "hugging_face and pytorch: tokens are there, as benchmarks have them; else each batch is copied");
    key.optional("blocking_input_copies", model.blocking_input_copies, true,
                 "Tensor.to() without non_blocking, as Hugging Face Accelerate does by default");
    key.optional("loss_readback", model.loss_readback, false,
                 "the loop reads the loss in every step (blocks)");
  }

  template <class Visitor>
  static void describe_attention(Visitor& key, TransformerSpec& model) {
    key.optional("gelu", model.gelu, Gelu::Fused,
                 "one kernel (fused: with erf; tanh: approximate; normcdf: PyTorch before 1.12), or Hugging "
                 "Face's gelu_new in eight (composed)");
    key.optional("attention", model.attention, AttentionKernels::Unfused,
                 "operators of attention: unfused, or one kernel: FlashAttention-2 (flash), 1 in Triton "
                 "(flash_1) or in CUDA (flash_1_cuda), 3 (flash_3), cuDNN's (cudnn: Transformer Engine's "
                 "and, since 2026, PyTorch's on Hopper), xFormers' (efficient: PyTorch's in FP32 and TF32, "
                 "and with a mask)");
    key.optional(
        "repeats_kv_heads", model.repeats_kv_heads, true,
        "hugging_face_llama: grouped keys and values are copied for each head (repeat_kv); FlashAttention's "
        "own package takes them as they are, and so does scaled_dot_product_attention with transformers "
        "from 4.48 on and PyTorch from 2.5 on, without a mask (enable_gqa)");
  }

  template <class Visitor>
  static void describe(Visitor& key, TransformerSpec& model) {
    key.required("family", model.family, "gpt (decoder), bert (encoder) or opt (Hugging Face's OPT)");
    key.required("layers", model.layers, "transformer blocks");
    key.required("hidden", model.hidden, "width of the residual stream");
    key.required("heads", model.heads, "attention heads");
    key.optional("feed_forward", model.feed_forward, std::nullopt, "width between; 4 x hidden when left out");
    key.required("vocabulary", model.vocabulary, "tokens");
    key.required("positions", model.positions, "longest sequence");
    key.required("sequence", model.sequence, "tokens of a sample");
    key.optional("token_types", model.token_types, 0, "rows of BERT's segment embedding");
    key.optional("classes", model.classes, std::nullopt,
                 "of a sample, told from its first token (BertForSequenceClassification) or its last one "
                 "(GPT2ForSequenceClassification); left out: tokens are predicted");
    key.optional("classified", model.classified, Classified::Samples,
                 "classes: what is classified: samples, or every token (BertForTokenClassification, "
                 "GPT2ForTokenClassification)");
    key.optional("class_indices_on_host", model.class_indices_on_host, false,
                 "classes of a gpt: Python picks the last tokens' logits by a list (older releases of "
                 "transformers), which "
                 "is copied and waited for, forward and backward");
    key.optional(
        "attention_mask", model.attention_mask, false,
        "gpt: which tokens are padding is given, as tokenizers of Hugging Face give it: it is copied "
        "to the device and added to the scores of every layer (bert and opt always have it); "
        "hugging_face_llama with 'attention: efficient': scaled_dot_product_attention is given a mask, "
        "always "
        "by transformers 4.38, by 5 where there is padding");
    key.optional(
        "implementation", model.implementation, Implementation::HuggingFace,
        "whose code; what follows up to latent_attention is for megatron, and what Llama has for the Llamas. "
        "pytorch: nn.Linear, one product for queries, keys and values, scaled_dot_product_attention, no "
        "masks; "
        "gpt: norms first, bert: norms last; a norm and a tied output without bias, a loss of every token");
    describe_layers(key, model);
    key.optional("lora", model.lora, std::nullopt,
                 "megatron, dense, and hugging_face_llama: all weights are frozen, and adapters beside some "
                 "products trained");
    key.optional("packed", model.packed, 1,
                 "megatron and hugging_face_llama, with attention in one kernel: samples of equal length, in "
                 "whole tokens, that share a sequence; attention stays within each");
    describe_attention(key, model);
    key.optional("dropout", model.dropout, true, "whether dropout layers do something");
    key.optional(
        "shifts_logits", model.shifts_logits, true,
        "gpt: the model's loss shifts logits against tokens, as Hugging Face's does; else the loader has "
        "the next tokens, as nanoGPT's has (pytorch: always)");
    key.optional(
        "fused_loss", model.fused_loss, false,
        "megatron without tensor parallelism: cross entropy reads the logits as they are in one kernel and "
        "makes their gradient of them in another (Apex's xentropy, FlashAttention's); else a kernel an "
        "operator, in FP32");
    describe_loop(key, model);
  }

  /// @throws FieldError for sizes that are not positive or do not fit together
  void check() const;
  void check_implementation() const;
  void check_fine_tuning() const;

  /// Written by TransformerStep: data parallel alone.
  [[nodiscard]] bool is_in_modules() const {
    return implementation == Implementation::HuggingFace || implementation == Implementation::PyTorch;
  }
  /// Plain modules of PyTorch.
  [[nodiscard]] bool is_plain() const { return implementation == Implementation::PyTorch; }
  /// The loss sees all tokens of a sample but the last, whose next one is not known.
  [[nodiscard]] bool judges_next_tokens() const {
    return family != TransformerFamily::Bert && !classes && !is_plain() && shifts_logits;
  }

  /// Llama as torchtitan or Hugging Face wrote it: its layers are PyTorch's modules, whose gradients autograd
  /// keeps.
  [[nodiscard]] bool is_in_torch_operators() const {
    return implementation == Implementation::TorchTitan || implementation == Implementation::HuggingFaceLlama;
  }

  [[nodiscard]] std::int64_t key_value_heads() const { return kv_heads.value_or(heads); }
  [[nodiscard]] std::int64_t feed_forward_width() const { return feed_forward.value_or(4 * hidden); }
  [[nodiscard]] std::int64_t size_of_head() const { return head_size.value_or(hidden / heads); }

  [[nodiscard]] std::int64_t position_rows() const;  ///< of the table of positions
  [[nodiscard]] BlockShape block(std::int64_t batch) const;
  /// Shape of the head of a model with classes.
  [[nodiscard]] ClassifierShape classifier() const {
    return {classes.value(), class_indices_on_host, classified == Classified::Tokens};
  }
  /// Whether a sample has one logit a class, not each token.
  [[nodiscard]] bool classifies_samples() const { return classes && classified == Classified::Samples; }

  /// Elements of the parameters in the order of the modules.
  [[nodiscard]] std::vector<std::int64_t> parameters() const;
  [[nodiscard]] std::vector<std::int64_t> embedding_parameters() const;  ///< of them: before the layers
  [[nodiscard]] std::vector<std::int64_t> head_parameters() const;       ///< and behind them
  /// Whether a parameter of so many elements is a matrix, not a bias or of a norm, which vectors are: those
  /// are as long as a token is wide in some layer.
  [[nodiscard]] bool is_matrix(std::int64_t elements) const;
};

}  // namespace lockstep
