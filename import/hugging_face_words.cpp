#include "import/hugging_face_words.hpp"

#include <algorithm>
#include <array>

namespace lockstep::importing::hugging_face {
namespace {

using enum Meaning;

constexpr auto kLlamaTypes = std::to_array<std::string_view>({"llama", "mistral", "mixtral"});
constexpr auto kQwen2Types = std::to_array<std::string_view>({"qwen2", "qwen2_moe"});
constexpr auto kQwen3Types = std::to_array<std::string_view>({"qwen3", "qwen3_moe"});
constexpr auto kDeepSeekTypes = std::to_array<std::string_view>({"deepseek_v2", "deepseek_v3"});
constexpr auto kGpt2Types = std::to_array<std::string_view>({"gpt2"});
constexpr auto kNeoxTypes = std::to_array<std::string_view>({"gpt_neox"});
constexpr auto kBertTypes = std::to_array<std::string_view>({"bert", "roberta"});
constexpr auto kOptTypes = std::to_array<std::string_view>({"opt"});
constexpr auto kT5Types = std::to_array<std::string_view>({"t5", "mt5"});

constexpr auto kLlamaFacts = std::to_array<Fact>({{"T.family", "gpt"},
                                                  {"T.normalisation", "rms"},
                                                  {"T.activation", "swiglu"},
                                                  {"T.position_encoding", "rotary"},
                                                  {"T.attention", "flash"},
                                                  {"T.bias", "false"},
                                                  {"T.tied", "false"},
                                                  {"T.dropout", "false"}});
constexpr auto kQwen2Facts = std::to_array<Fact>({{"T.family", "gpt"},
                                                  {"T.normalisation", "rms"},
                                                  {"T.activation", "swiglu"},
                                                  {"T.position_encoding", "rotary"},
                                                  {"T.attention", "flash"},
                                                  {"T.bias", "false"},
                                                  {"T.qkv_bias", "true"},
                                                  {"T.tied", "false"},
                                                  {"T.dropout", "false"}});
constexpr auto kQwen3Facts = std::to_array<Fact>({{"T.family", "gpt"},
                                                  {"T.normalisation", "rms"},
                                                  {"T.activation", "swiglu"},
                                                  {"T.position_encoding", "rotary"},
                                                  {"T.attention", "flash"},
                                                  {"T.bias", "false"},
                                                  {"T.qk_norm", "true"},
                                                  {"T.tied", "false"},
                                                  {"T.dropout", "false"}});
constexpr auto kGptFacts = std::to_array<Fact>({{"T.family", "gpt"}});
constexpr auto kNeoxFacts = std::to_array<Fact>({{"T.family", "gpt"},
                                                 {"T.position_encoding", "rotary"},
                                                 {"T.residual", "parallel"},
                                                 {"T.attention", "flash"},
                                                 {"T.tied", "false"},
                                                 {"T.dropout", "false"}});
constexpr auto kBertFacts = std::to_array<Fact>({{"T.family", "bert"}});
constexpr auto kOptFacts = std::to_array<Fact>({{"T.family", "opt"}});

constexpr auto kLlamaWords = std::to_array<Word>({
    {"num_hidden_layers", Number, "T.layers"},
    {"hidden_size", Number, "T.hidden"},
    {"num_attention_heads", Number, "T.heads"},
    {"intermediate_size", Number, "T.feed_forward"},
    {"vocab_size", Number, "T.vocabulary"},
    {"max_position_embeddings", Number, "T.positions"},
    {"type_vocab_size", Number, "T.token_types"},
    {"mlp_bias", NotModelled, "only products of attention may have a bias"},
    {"num_nextn_predict_layers", NotModelled, "multi-token prediction is left out"},
    {"quantization_config*", NotModelled, "weights are trained in 'precision', not quantised"},
    {"mlp_only_layers", NotModelled, "every layer but the first dense ones has experts"},
    {"scoring_func", NotModelled, "the router's scores are softmaxes"},
    {"n_group", NotModelled, "experts are chosen among all, without groups"},
    {"topk_group", NotModelled, "experts are chosen among all, without groups"},
    {"topk_method", NotModelled, "experts are chosen by their scores"},
    {"qk_head_dim"},
    {"moe_layer_freq"},
    {"ep_size"},
    {"routed_scaling_factor"},
    {"norm_topk_prob"},
    {"aux_loss_alpha"},
    {"seq_aux"},
    {"shared_expert_intermediate_size"},
});
constexpr auto kGpt2Words = std::to_array<Word>({
    {"n_layer", Number, "T.layers"},
    {"n_embd", Number, "T.hidden"},
    {"n_head", Number, "T.heads"},
    {"n_inner", Number, "T.feed_forward"},
    {"vocab_size", Number, "T.vocabulary"},
    {"n_positions", Number, "T.positions"},
    {"n_ctx"},
    {"summary_*"},
    {"scale_attn_weights"},
    {"attn_pdrop"},
    {"embd_pdrop"},
    {"resid_pdrop"},
    {"reorder_and_upcast_attn", NotModelled, "attention is computed in the type of the step"},
    {"scale_attn_by_inverse_layer_idx"},
    {"activation_function"},
});
constexpr auto kOptWords = std::to_array<Word>({
    {"num_hidden_layers", Number, "T.layers"},
    {"hidden_size", Number, "T.hidden"},
    {"num_attention_heads", Number, "T.heads"},
    {"ffn_dim", Number, "T.feed_forward"},
    {"vocab_size", Number, "T.vocabulary"},
    {"max_position_embeddings", Number, "T.positions"},
    {"word_embed_proj_dim"},
    {"activation_function"},
    {"do_layer_norm_before"},
    {"_remove_final_layer_norm"},
    {"enable_bias"},
    {"layer_norm_elementwise_affine"},
    {"dropout"},
    {"layerdrop", NotModelled, "no layer is dropped"},
});
constexpr auto kT5Words = std::to_array<Word>({
    {"num_layers", Number, "E.layers"},
    {"num_decoder_layers", Number, "E.decoder_layers"},
    {"d_model", Number, "E.hidden"},
    {"num_heads", Number, "E.heads"},
    {"d_kv", Number, "E.head_size"},
    {"d_ff", Number, "E.feed_forward"},
    {"vocab_size", Number, "E.vocabulary"},
    {"relative_attention_num_buckets", Number, "E.buckets"},
    {"n_positions", Number, "E.sequence"},
    {"dropout_rate"},
    {"relative_attention_max_distance"},
    {"feed_forward_proj"},
    {"dense_act_fn"},
    {"is_gated_act"},
});

constexpr auto kTransformerSizes =
    std::to_array<std::string_view>({"T.layers", "T.hidden", "T.heads", "T.vocabulary", "T.positions"});
constexpr auto kT5Sizes =
    std::to_array<std::string_view>({"E.layers", "E.hidden", "E.heads", "E.vocabulary", "E.feed_forward"});

constexpr auto kFamilies = std::to_array<Family>({
    {kLlamaTypes, kLlamaFacts, kLlamaWords, kTransformerSizes},
    {kQwen2Types, kQwen2Facts, kLlamaWords, kTransformerSizes},
    {kQwen3Types, kQwen3Facts, kLlamaWords, kTransformerSizes},
    {kDeepSeekTypes, kLlamaFacts, kLlamaWords, kTransformerSizes},
    {kGpt2Types, kGptFacts, kGpt2Words, kTransformerSizes},
    {kNeoxTypes, kNeoxFacts, kLlamaWords, kTransformerSizes},
    {kBertTypes, kBertFacts, kLlamaWords, kTransformerSizes},
    {kOptTypes, kOptFacts, kOptWords, kTransformerSizes},
    {kT5Types, {}, kT5Words, kT5Sizes},
});

/// Words, ids of tokens, ways to begin, generation, and where the file comes from.
constexpr auto kCommonWords = std::to_array<Word>({
    {"_name_or_path"},
    {"architectures"},
    {"auto_map*"},
    {"transformers_version"},
    {"model_type"},
    {"bos_token_id"},
    {"eos_token_id"},
    {"pad_token_id"},
    {"decoder_start_token_id"},
    {"initializer_*"},
    {"use_cache"},
    {"rms_norm_eps"},
    {"layer_norm_eps"},
    {"layer_norm_epsilon"},
    {"layer_norm_type"},
    {"rope_*"},
    {"rotary_emb_base"},
    {"hidden_act"},
    {"hidden_dropout*"},
    {"attention_dropout"},
    {"attention_probs_dropout_prob"},
    {"classifier_dropout"},
    {"gradient_checkpointing"},
    {"id2label*"},
    {"label2id*"},
    {"task_specific_params*"},
    {"position_embedding_type"},
    {"pretraining_tp"},
    {"router_*"},
    {"output_*"},
    {"use_sliding_window"},
    {"sliding_window"},
    {"max_window_layers"},
    {"layer_types"},
    {"decoder_sparse_step"},
    {"is_encoder_decoder"},
    {"prefix"},
    {"init_std"},
    {"original_max_position_embeddings"},
    {"torch_dtype"},
    {"dtype"},
    {"use_parallel_residual"},
    {"pruned_heads*"},
    {"is_decoder"},
    {"problem_type"},
    {"unk_token_id"},
    {"language"},
});

}  // namespace

bool Family::is_known(std::string_view type) const {
  return std::ranges::count(types, type) > 0;
}

void Family::take_switch(std::string_view key, bool on, const Source& source, Draft& draft) const {
  const bool is_encoder_decoder = facts.empty();
  const bool ties_by_itself = is_encoder_decoder || !draft.has("T.tied");
  if (key == "tie_word_embeddings" && on != ties_by_itself) {
    draft.set(is_encoder_decoder ? "E.tied" : "T.tied", on ? "true" : "false", source);
  } else if (key == "attention_bias" && on && draft.text("T.bias") == "false") {
    draft.set("T.qkv_bias", "true", source);
  } else if (key == "use_parallel_residual" && !on) {
    draft.drop("T.residual");
  }
}

const Family& family_of(std::string_view type) {
  const auto found = std::ranges::find_if(kFamilies, [&](const Family& row) { return row.is_known(type); });
  return found == kFamilies.end() ? kFamilies.front() : *found;
}

std::span<const Word> common_words() {
  return kCommonWords;
}

}  // namespace lockstep::importing::hugging_face
