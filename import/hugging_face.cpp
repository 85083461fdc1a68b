#include "import/hugging_face.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "base/yaml_text.hpp"
#include "import/hugging_face_words.hpp"
#include "import/settings.hpp"

namespace lockstep::importing {
namespace {

/// Keys that share a value with others, or depend on one another.
class HubModel {
 public:
  HubModel(const SourceFile& file, const YamlNode& tree, Draft& draft)
      : file_{file}, settings_{Settings::of_tree(tree)}, draft_{draft} {}

  void read() {
    const std::string type = settings_.text("model_type");
    const hugging_face::Family& family = hugging_face::family_of(type);
    const Setting* type_setting = settings_.use("model_type");
    const Source source =
        type_setting != nullptr ? source_of(*type_setting) : Source{{file_.name, 1, 1}, "architectures"};
    if (!family.is_known(type)) {
      draft_.remark(
          Remark::Kind::NotModelled, source,
          fmt::format("a model of type '{}' is not known: it is taken for a Llama with these sizes", type));
    }
    names(source);
    for (const auto& [path, value] : family.facts) {
      draft_.set(std::string{path}, std::string{value}, source);
    }
    experts();
    latent_attention();
    heads();
    precision();
    others(family);
    unlike_usual();
    if (!family.is_known(type) && settings_.use("tie_word_embeddings") == nullptr) {
      draft_.drop("T.tied");
      draft_.assume("T.tied", "true", "PretrainedConfig's default of tie_word_embeddings");
    }
    std::vector<Word> words{family.words.begin(), family.words.end()};
    std::ranges::copy(hugging_face::common_words(), std::back_inserter(words));
    apply(words, settings_, draft_);
    expect_sizes(family, source);
  }

 private:
  void names(const Source& source) {
    const std::filesystem::path path{file_.name};
    const std::string folder = std::filesystem::absolute(path).parent_path().filename().string();
    std::string name = settings_.text("_name_or_path");
    if (name.empty()) {
      name = path.stem() == "config" ? folder : path.stem().string();
    }
    draft_.set("M.name", name, source);
    draft_.set("M.source", "Hugging Face configuration " + path.filename().string(), source);
  }

  void copy(std::string_view key, const std::string& path) {
    if (const Setting* setting = settings_.use(key);
        setting != nullptr && setting->value.kind != YamlNode::Kind::Null) {
      draft_.set(path, std::to_string(whole_number_of(*setting)), source_of(*setting));
    }
  }

  void experts() {
    const auto key = std::ranges::find_if(hugging_face::kExpertCounts, [&](std::string_view name) {
      return settings_.whole_number(name).value_or(0) > 1;
    });
    if (key == hugging_face::kExpertCounts.end()) {
      return;
    }
    const Source source = source_of(*settings_.use(*key));
    copy(*key, "T.experts.count");
    copy("num_experts_per_tok", "T.experts.per_token");
    copy("intermediate_size", "T.experts.feed_forward");  // Mixtral's only width
    if (settings_.whole_number("moe_intermediate_size")) {
      draft_.drop("T.experts.feed_forward");
      copy("moe_intermediate_size", "T.experts.feed_forward");
    }
    copy("n_shared_experts", "T.experts.shared");
    copy("first_k_dense_replace", "T.experts.dense_layers");
    const auto shared = settings_.whole_number("shared_expert_intermediate_size").value_or(0);
    if (const auto width = settings_.whole_number("moe_intermediate_size").value_or(0);
        shared > 0 && width > 0) {
      draft_.set("T.experts.shared", std::to_string(std::max<std::int64_t>(1, shared / width)),
                 source_of(*settings_.use("shared_expert_intermediate_size")));
    }
    draft_.set("T.experts.dropless", "true", source);
    for (const char* step : {"decoder_sparse_step", "moe_layer_freq"}) {
      if (settings_.whole_number(step).value_or(1) > 1) {
        draft_.remark(Remark::Kind::NotModelled, source_of(*settings_.use(step)),
                      "every layer but the first dense ones has experts here");
      }
    }
  }

  void latent_attention() {
    if (settings_.whole_number("kv_lora_rank").value_or(0) < 1) {
      return;
    }
    copy("kv_lora_rank", "T.latent_attention.key_value_rank");
    copy("qk_rope_head_dim", "T.latent_attention.rotary_size");
    copy("v_head_dim", "T.latent_attention.value_size");
    copy("qk_nope_head_dim", "T.head_size");
    static_cast<void>(settings_.use("num_key_value_heads"));  // as many as heads: the latent stands for them
    static_cast<void>(settings_.use("head_dim"));
    copy("q_lora_rank", "T.latent_attention.query_rank");  // null: queries come straight from the input
  }

  /// Keys whose usual value is what the layers here do, and whose other values they do not.
  void unlike_usual() {
    struct Usual {
      std::string_view key, value, why;
    };
    static constexpr auto kUsual = std::to_array<Usual>({
        {"do_layer_norm_before", "true", "layers are normalised before, not behind"},
        {"enable_bias", "true", "layers have biases"},
        {"layer_norm_elementwise_affine", "true", "norms have weights"},
        {"scale_attn_by_inverse_layer_idx", "false", "scores are not scaled by the layer"},
    });
    const auto differs = [&](std::string_view key, const std::string& usual) {
      const Setting* const setting = settings_.use(key);
      const std::string said = setting == nullptr ? usual : setting->value.scalar;
      return !said.empty() && said != usual && said != (usual == "true" ? "True" : "False");
    };
    for (const Usual& row : kUsual) {
      if (differs(row.key, std::string{row.value})) {
        draft_.remark(Remark::Kind::NotModelled, source_of(*settings_.use(row.key)), std::string{row.why});
      }
    }
    if (const Setting* const hidden = settings_.use("hidden_size");
        hidden != nullptr && differs("word_embed_proj_dim", hidden->value.scalar)) {
      draft_.remark(Remark::Kind::NotModelled, source_of(*settings_.use("word_embed_proj_dim")),
                    "words are as wide as the model, without a projection");
    }
    settings_.forget("hidden_size");  // a word takes it
  }

  /// Keys that say what is usual are left out: as many key heads as heads, hidden / heads wide.
  void heads() {
    const auto heads = settings_.whole_number("num_attention_heads");
    const bool is_latent = draft_.has("T.latent_attention.key_value_rank");  // which stands for them
    if (heads && !is_latent && settings_.whole_number("num_key_value_heads") != heads) {
      copy("num_key_value_heads", "T.kv_heads");
    }
    const auto hidden = settings_.whole_number("hidden_size");
    const auto size = settings_.whole_number("head_dim");
    if (size && heads && hidden && *size * *heads != *hidden) {
      copy("head_dim", "T.head_size");
    }
    for (const char* key : {"hidden_size", "num_attention_heads", "intermediate_size"}) {
      settings_.forget(key);  // words take them
    }
  }

  void precision() {
    for (const char* key : {"torch_dtype", "dtype"}) {
      const Setting* setting = settings_.use(key);
      if (setting == nullptr || setting->value.kind != YamlNode::Kind::Scalar) {
        continue;
      }
      const std::string& type = setting->value.scalar;
      if (type == "bfloat16" || type == "float16") {
        draft_.set("W.precision", type == "bfloat16" ? "bf16" : "fp16", source_of(*setting));
      } else {
        draft_.remark(Remark::Kind::NoEffect, source_of(*setting), "of the stored weights");
      }
    }
  }

  void others(const hugging_face::Family& family) {
    if (settings_.is_on("use_sliding_window") ||
        (settings_.use("use_sliding_window") == nullptr && settings_.is_on("sliding_window"))) {
      draft_.remark(Remark::Kind::NotModelled, source_of(*settings_.use("sliding_window")),
                    "attention sees all tokens before, not a window of them");
    }
    for (const char* key : {"tie_word_embeddings", "attention_bias", "use_parallel_residual"}) {
      if (const Setting* setting = settings_.use(key); setting != nullptr) {
        family.take_switch(key, turns_on(setting->value), source_of(*setting), draft_);
      }
    }
    if (settings_.text("feed_forward_proj") == "gated-gelu") {
      draft_.set("E.activation", "gated_gelu", source_of(*settings_.use("feed_forward_proj")));
    }
    if (const Setting* share = settings_.use("rotary_pct");
        share != nullptr && share->value.scalar != "1.0") {
      draft_.set("T.rotary_share", share->value.scalar, source_of(*share));
    }
  }

  void expect_sizes(const hugging_face::Family& family, const Source& source) {
    for (const std::string_view path : family.required) {
      if (!draft_.has(std::string{path})) {
        throw InputError{source.at,
                         fmt::format("a configuration of '{}' without the size '{}': is it one "
                                     "of a model?",
                                     settings_.text("model_type"), path.substr(path.find('.') + 1))};
      }
    }
  }

  const SourceFile& file_;
  Settings settings_;
  Draft& draft_;
};

}  // namespace

bool is_hugging_face(const SourceFile& file) {
  return file.root_key("model_type") != nullptr ||
         (file.root_key("architectures") != nullptr && file.root_key("vocab_size") != nullptr);
}

void read_hugging_face(const SourceFile& file, Draft& draft) {
  const YamlNode* inner = file.root_key("text_config");
  if (inner != nullptr && inner->kind == YamlNode::Kind::Mapping && inner->find("hidden_size") != nullptr) {
    draft.remark(Remark::Kind::NotModelled, {inner->at, "text_config"},
                 "the language model alone is read, not what sees or hears");
    HubModel{file, *inner, draft}.read();
  } else {
    HubModel{file, *file.tree, draft}.read();
  }
  if (draft.trainer == Trainer::Unsaid) {
    draft.trainer = Trainer::HuggingFace;
  }
}

}  // namespace lockstep::importing
