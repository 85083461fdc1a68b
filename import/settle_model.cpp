#include "import/settle_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/yaml_document.hpp"

namespace lockstep::importing {
namespace {

const YamlNode* inner(const YamlNode& node, const std::string& path) {
  const YamlNode* at = &node;
  for (std::size_t begin = 0; at != nullptr && begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const YamlEntry* entry =
        at->kind == YamlNode::Kind::Mapping ? at->find(path.substr(begin, end - begin)) : nullptr;
    at = entry == nullptr ? nullptr : &entry->value;
    begin = end + 1;
  }
  return at;
}

void keep_sequence_within_positions(Draft& draft) {
  const double sequence = draft.number("T.sequence", 0);
  if (sequence > draft.number("T.positions", sequence)) {
    draft.assume("T.positions", draft.text("T.sequence"), "as many as a sample has tokens");
  }
}

/// One key says a sample's length: the model's in a model in place, the workload's for one that ships.
void settle_sequence(Draft& draft) {
  const bool in_place = draft.has("T.layers");
  const std::string from = in_place ? "W.sequence" : "T.sequence",
                    to = in_place ? "T.sequence" : "W.sequence";
  if (const DraftKey* said = draft.find(from); said != nullptr) {
    const DraftKey key = *said;
    draft.drop(from);
    draft.set(to, key.value, {key.value.at, key.key});
  }
  if (in_place && !draft.has("T.sequence")) {
    constexpr double kUsual = 4096;
    const double positions = draft.number("T.positions", kUsual);
    draft.assume("T.sequence", std::to_string(static_cast<std::int64_t>(std::min(positions, kUsual))),
                 "no file says how long a sample is");
  }
  keep_sequence_within_positions(draft);
}

void mend_megatron(Draft& draft, const DraftModel& model) {
  if (model.has_experts() && model.fact("bias") != "false") {
    draft.assume("T.bias", "false", "layers with experts have no biases here");
  }
  if (model.fact("family") == "bert" && model.number("token_types", 0) > 0) {
    draft.assume("T.token_types", "0", "encoders of Megatron's layers have none here");
  }
  if (model.fact("family") == "opt") {
    draft.assume("T.family", "gpt", "OPT in Megatron's layers");
  }
  const DraftKey* attention = draft.find("T.attention");
  const bool is_wide = draft.text("W.precision") == "fp32";
  if (draft.has("T.layers") && is_wide && (attention == nullptr || attention->is_assumed)) {
    draft.drop("T.attention");
    draft.assume("T.attention", "unfused", "flash attention computes in 16 bits");
  } else if (draft.has("T.layers") && attention == nullptr) {
    draft.assume("T.attention", "flash", "no file says it");
  }
}

std::string implementation_of(const Draft& draft, const DraftModel& model) {
  if (draft.trainer == Trainer::TorchTitan && model.is_llama()) {
    return "torchtitan";
  }
  const bool is_hub = draft.trainer != Trainer::Megatron && draft.trainer != Trainer::TorchTitan;
  if (is_hub && model.is_llama()) {
    return "hugging_face_llama";
  }
  const bool splits = draft.number("P.tensor", 1) > 1 || draft.number("P.pipeline", 1) > 1 ||
                      draft.number("P.context", 1) > 1;
  return is_hub && model.is_in_modules() && !splits ? "hugging_face" : "megatron";
}

void settle_implementation(Draft& draft, const DraftModel& model) {
  const std::string chosen = implementation_of(draft, model);
  const std::string now =
      model.fact("implementation").empty() ? "hugging_face" : model.fact("implementation");
  if (chosen == "megatron") {
    mend_megatron(draft, model);
  }
  if (chosen == "hugging_face" && draft.has("T.layers") && model.fact("family") == "gpt") {
    draft.assume("T.gelu", "composed", "gelu_new, as transformers writes GPT-2");
  }
  if (chosen != now) {
    const bool is_other = chosen == "megatron" && draft.trainer != Trainer::Megatron;
    draft.assume("T.implementation", chosen,
                 is_other ? "whose layers such a model has; no others know it" : "by who trains it");
  }
}

/// A model stands in for one that no file says, unless the files are about one that is otherwise.
/// @throws InputError at a key that says so
void expect_dense_model(const Draft& draft) {
  const bool has_experts = draft.number("P.expert", 1) > 1 || draft.number("P.expert_tensor", 1) > 1;
  if (draft.trainer != Trainer::Megatron && !has_experts) {
    return;
  }
  if (draft.kind) {
    throw InputError{
        draft.kind->source.at,
        draft.kind->is_modelled
            ? fmt::format(
                  "no file says the sizes of the model, a {} ({}): give its config.json, or its id of "
                  "Hugging Face's hub, too",
                  draft.kind->name, draft.kind->source.key)
            : fmt::format("the model is a {} ({}), which has layers that Lockstep does not model; for a "
                          "transformer in its place add --num-layers, --hidden-size and "
                          "--num-attention-heads, or give a config.json",
                          draft.kind->name, draft.kind->source.key)};
  }
  for (const DraftKey& key : draft.keys()) {
    if (!key.is_assumed) {
      throw InputError{key.value.at,
                       fmt::format("no file says the sizes of the {}model: give its config.json, or its "
                                   "id of Hugging Face's hub, too",
                                   has_experts ? "experts of the " : "")};
    }
  }
}

/// config.json says the sizes; layers are those of transformers' T5, which DistributedDataParallel trains.
void settle_t5_of_megatron(Draft& draft) {
  draft.drop("workload.model.transformer");
  if (const DraftKey* overlap = draft.find("P.overlap_gradients");
      overlap != nullptr && overlap->is_assumed) {
    draft.drop("P.overlap_gradients");
  }
  if (draft.kind) {
    draft.remark(Remark::Kind::NotModelled, draft.kind->source,
                 "a T5 in Hugging Face's layers, trained data-parallel");
  }
}

/// Parameters in FP8 are known of Megatron-LM's, whole ones.
void settle_fp8_parameters(Draft& draft, const DraftModel& model) {
  const DraftKey* kept = draft.find("F.fp8_parameters");
  if (kept == nullptr) {
    return;
  }
  const std::string sharding = draft.text("P.sharding");
  const bool are_whole = sharding.empty() || sharding == "none" || sharding == "zero1";
  if (model.fact("implementation") != "megatron" || draft.text("W.precision") != "fp8" || !are_whole) {
    draft.remark(Remark::Kind::NotModelled, {kept->value.at, kept->key},
                 "parameters are kept and gathered in 16 bits");
    draft.drop("F.fp8_parameters");
  }
}

void settle_framework(Draft& draft, const DraftModel& model) {
  const bool is_torchtitan = model.fact("implementation") == "torchtitan";
  if (const DraftKey* compile = draft.find("F.compile"); compile != nullptr && !is_torchtitan) {
    draft.remark(Remark::Kind::NotModelled, {compile->value.at, compile->key},
                 "layers of Megatron's are not compiled");
    draft.drop("F.compile");
  }
  if (const DraftKey* recompute = draft.find("P.recompute");
      recompute != nullptr && recompute->value.scalar == "operators" && !is_torchtitan) {
    const Source source{recompute->value.at, recompute->key};
    draft.remark(Remark::Kind::NotModelled, source, "Megatron's selective recomputation in its place");
    draft.drop("P.recompute");
    draft.assume("P.recompute", "selective", "in place of torchtitan's choice of operators");
  }
  const DraftKey* precision = draft.find("W.precision");
  const bool knows_fp8 =
      model.fact("implementation") == "megatron" || (is_torchtitan && draft.has("F.compile"));
  if (precision != nullptr && precision->value.scalar == "fp8" && !knows_fp8) {
    draft.remark(Remark::Kind::NotModelled, {precision->value.at, precision->key},
                 is_torchtitan ? "float8 is known of compiled blocks: BF16 here" : "BF16 here");
    draft.assume("W.precision", "bf16", "in place of FP8");
  }
  settle_fp8_parameters(draft, model);
}

}  // namespace

DraftModel::DraftModel(Draft& draft, const ConfigPath& configs) : draft_{draft} {
  if (const std::string from = draft.text("M.from"); !from.empty()) {
    shipped_ = YamlDocument::from_file(configs.find("models", from)).root();
  }
}

std::string DraftModel::fact(const std::string& key) const {
  if (draft_.has("T." + key)) {
    return draft_.text("T." + key);
  }
  const YamlNode* value = inner(shipped_, "transformer." + key);
  return value == nullptr ? "" : value->scalar;
}

double DraftModel::number(const std::string& key, double otherwise) const {
  const std::string text = fact(key);
  double value = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? value : otherwise;
}

bool DraftModel::is_encoder_decoder() const {
  return draft_.has("E.layers") || inner(shipped_, "encoder_decoder") != nullptr;
}

bool DraftModel::is_transformer() const {
  return draft_.has("T.layers") || inner(shipped_, "transformer") != nullptr;
}

bool DraftModel::has_experts() const {
  return draft_.has("T.experts.count") || inner(shipped_, "transformer.experts") != nullptr;
}

bool DraftModel::is_llama() const {
  const bool has_latent = draft_.has("T.latent_attention.key_value_rank") ||
                          inner(shipped_, "transformer.latent_attention") != nullptr;
  return fact("family") == "gpt" && fact("normalisation") == "rms" && fact("activation") == "swiglu" &&
         fact("position_encoding") == "rotary" && fact("bias") == "false" && fact("qk_norm") != "true" &&
         fact("qkv_bias") != "true" && !has_experts() && !has_latent && fact("dropout") == "false";
}

bool DraftModel::is_in_modules() const {
  const auto is_usual = [&](const char* key, const char* usual) {
    const std::string said = fact(key);
    return said.empty() || said == usual;
  };
  return is_transformer() && is_usual("normalisation", "layer") && is_usual("activation", "gelu") &&
         is_usual("position_encoding", "learned") && is_usual("bias", "true") &&
         is_usual("residual", "serial") && fact("kv_heads").empty() && fact("head_size").empty() &&
         !has_experts();
}

double DraftModel::parameters() const {
  const double hidden = number("hidden", 0), layers = number("layers", 0), heads = number("heads", 1);
  const double keys = number("kv_heads", heads) / heads;
  const double products = fact("activation") == "swiglu" ? 3 : 2;
  constexpr double kUsualWidth = 4;
  double feed_forward = products * hidden * number("feed_forward", kUsualWidth * hidden);
  if (has_experts()) {
    feed_forward = products * hidden * number("experts.feed_forward", 0) * number("experts.count", 0);
  }
  return layers * (2 * hidden * hidden * (1 + keys) + feed_forward) + 2 * hidden * number("vocabulary", 0);
}

void settle_model(Draft& draft, const ConfigPath& configs) {
  if (draft.has("E.layers")) {
    if (draft.trainer == Trainer::Megatron) {
      settle_t5_of_megatron(draft);
    }
    if (!draft.has("E.sequence")) {
      draft.assume("E.sequence", "512", "no file says how long a sample is");
    }
    return;
  }
  if (!draft.has("T.layers") && !draft.has("M.from")) {
    expect_dense_model(draft);
    draft.assume("M.from", "llama3_8b", "no file says the model");
  }
  if (draft.has("T.layers")) {
    draft.drop("M.from");
  }
  settle_sequence(draft);
  if (const DraftModel model{draft, configs}; model.is_transformer()) {
    settle_implementation(draft, model);
    settle_framework(draft, model);
  }
}

}  // namespace lockstep::importing
