#include "import/megatron_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "import/megatron_words.hpp"

namespace lockstep::importing {
namespace {

/// Arguments that say something together, or whose values are words.
class Megatron {
 public:
  Megatron(Settings& settings, const Source& source, Draft& draft)
      : settings_{settings}, source_{source}, draft_{draft} {}

  void read() {
    draft_.trainer = Trainer::Megatron;
    const bool has_layers = settings_.use("num-layers") != nullptr;
    settings_.forget("num-layers");
    if (has_layers) {
      model();
      experts();
    }
    precision();
    optimizer();
    pipeline();
    recompute();
    static_cast<void>(settings_.use("vocab-size"));  // derived() takes them, when the plan is known
    static_cast<void>(settings_.use("padded-vocab-size"));
    apply(megatron_words(), settings_, draft_);
    without_effect();
    if (has_layers) {
      derived();
    }
  }

 private:
  void set(std::string_view key, const std::string& path, const std::string& value) {
    draft_.set(path, value, source_of(*settings_.use(key)));
  }
  void not_modelled(std::string_view key, const std::string& why) {
    draft_.remark(Remark::Kind::NotModelled, source_of(*settings_.use(key)), why);
  }

  void model() {
    draft_.set("M.name", "megatron_model", source_);
    draft_.set("M.source", "arguments of Megatron-LM", source_);
    draft_.set("T.family", "gpt", source_);
    if (settings_.text("normalization") == "RMSNorm") {
      set("normalization", "T.normalisation", "rms");
    }
    if (settings_.is_on("swiglu")) {
      set("swiglu", "T.activation", "swiglu");
    }
    positions();
    const bool is_grouped = settings_.is_on("group-query-attention");
    if (is_grouped && settings_.is_on("multi-latent-attention")) {
      draft_.remark(Remark::Kind::NoEffect, source_of(*settings_.use("group-query-attention")),
                    "latent attention has a key of each head");
    } else if (is_grouped && settings_.use("num-query-groups") != nullptr) {
      set("num-query-groups", "T.kv_heads", std::to_string(*settings_.whole_number("num-query-groups")));
    }
    static_cast<void>(settings_.use("num-query-groups"));
    const auto width = settings_.whole_number("kv-channels");
    const auto hidden = settings_.whole_number("hidden-size"),
               heads = settings_.whole_number("num-attention-heads");
    if (width && hidden && heads && *heads > 0 && *width * *heads != *hidden) {
      set("kv-channels", "T.head_size", std::to_string(*width));
    }
    settings_.forget("hidden-size");
    settings_.forget("num-attention-heads");
    attention();
    dropout();
    if (!settings_.is_on("multi-latent-attention")) {
      for (const char* key :
           {"kv-lora-rank", "q-lora-rank", "qk-pos-emb-head-dim", "v-head-dim", "qk-head-dim"}) {
        static_cast<void>(settings_.use(key));
      }
    }
  }

  /// Switches of parts that the model does not have.
  void without_effect() {
    const auto leave_out = [&](const char* path, Remark::Kind kind, const Source& source, const char* why) {
      draft_.drop(path);
      draft_.remark(kind, source, why);
    };
    const bool is_latent = draft_.has("T.latent_attention.key_value_rank");
    if (draft_.has("T.qk_norm") && is_latent) {
      leave_out("T.qk_norm", Remark::Kind::NoEffect, source_of(*settings_.use("qk-layernorm")),
                "latent attention normalises its latent vectors");
    }
    if (!draft_.has("T.fused_rotary")) {
      return;
    }
    const Source rotation = source_of(*settings_.use("no-rope-fusion"));
    if (draft_.text("T.position_encoding") != "rotary") {
      leave_out("T.fused_rotary", Remark::Kind::NoEffect, rotation, "positions are not rotary");
    } else if (is_latent) {
      leave_out("T.fused_rotary", Remark::Kind::NotModelled, rotation,
                "latent attention is rotated in one kernel");
    }
  }

  void positions() {
    const std::string type = settings_.text("position-embedding-type");
    const bool says_rotary = settings_.is_on("use-rotary-position-embeddings");
    if (type == "rope") {
      set("position-embedding-type", "T.position_encoding", "rotary");
    } else if (says_rotary) {
      set("use-rotary-position-embeddings", "T.position_encoding", "rotary");
    } else if (settings_.is_on("multi-latent-attention")) {
      set("multi-latent-attention", "T.position_encoding", "rotary");
    } else if (!type.empty() && type != "learned_absolute") {
      not_modelled("position-embedding-type", "positions are learned");
    }
    if (settings_.is_on("no-position-embedding")) {
      const bool has_none = draft_.text("T.position_encoding") == "rotary";
      draft_.remark(has_none ? Remark::Kind::NoEffect : Remark::Kind::NotModelled,
                    source_of(*settings_.use("no-position-embedding")),
                    has_none ? "" : "positions are learned");
    }
    const std::string share = settings_.text("rotary-percent");
    if (!share.empty() && share != "1.0" && share != "1") {
      set("rotary-percent", "T.rotary_share", share);
    }
  }

  void attention() {
    const std::string backend = settings_.text("attention-backend");
    const bool says_flash = settings_.is_on("use-flash-attn");
    if (backend == "fused" || backend == "unfused" || backend == "flash") {
      set("attention-backend", "T.attention", backend == "fused" ? "cudnn" : backend);
    } else if (says_flash) {
      set("use-flash-attn", "T.attention", "flash");
    } else {
      draft_.assume("T.attention", "flash", "Transformer Engine chooses; FlashAttention-2");
    }
  }

  void dropout() {
    const auto is_zero = [&](std::string_view key) {
      const std::string text = settings_.text(key);
      return text == "0" || text == "0.0" || text == "0.";
    };
    if (is_zero("attention-dropout") && is_zero("hidden-dropout")) {
      set("hidden-dropout", "T.dropout", "false");
    }
  }

  void experts() {
    const auto count = settings_.whole_number("num-experts").value_or(0);
    if (count < 2) {
      for (const char* key : {"expert-model-parallel-size", "expert-tensor-parallel-size"}) {
        if (const Setting* setting = settings_.use(key)) {
          draft_.remark(Remark::Kind::NoEffect, source_of(*setting), "the model has no experts");
        }
      }
      return;
    }
    set("num-experts", "T.experts.count", std::to_string(count));
    const auto dense = settings_.whole_number("ffn-hidden-size");
    settings_.forget("ffn-hidden-size");
    const auto width = settings_.whole_number("moe-ffn-hidden-size");
    if (width || dense) {
      set(width ? "moe-ffn-hidden-size" : "ffn-hidden-size", "T.experts.feed_forward",
          std::to_string(width.value_or(dense.value_or(0))));
      settings_.forget("ffn-hidden-size");
    } else if (const auto hidden = settings_.whole_number("hidden-size")) {
      settings_.forget("hidden-size");
      draft_.assume("T.experts.feed_forward", std::to_string(usual_width(*hidden)),
                    "Megatron-LM's default of --ffn-hidden-size");
    }
    if (settings_.use("moe-router-topk") == nullptr) {
      draft_.assume("T.experts.per_token", "2", "Megatron-LM's default of --moe-router-topk");
    }
    settings_.forget("moe-router-topk");
    const auto shared = settings_.whole_number("moe-shared-expert-intermediate-size").value_or(0);
    if (const auto one = width.value_or(dense.value_or(0)); shared > 0 && one > 0) {
      set("moe-shared-expert-intermediate-size", "T.experts.shared",
          std::to_string(std::max<std::int64_t>(1, shared / one)));
    }
    capacity();
    dense_layers();
  }

  /// The width of a feed-forward layer without --ffn-hidden-size (arguments.py).
  [[nodiscard]] std::int64_t usual_width(std::int64_t hidden) const {
    constexpr std::int64_t kMultiple = 64;  // int((4 * hidden * 2 / 3) / 64) * 64
    return draft_.text("T.activation") == "swiglu" ? hidden * 8 / 3 / kMultiple * kMultiple : 4 * hidden;
  }

  void capacity() {
    const std::string factor = settings_.text("moe-expert-capacity-factor");
    const bool pads = settings_.is_on("moe-pad-expert-input-to-capacity");
    if (!factor.empty() && factor != "None" && factor.front() != '-' && pads) {
      set("moe-expert-capacity-factor", "T.experts.capacity", factor);
      return;
    }
    if (!factor.empty()) {
      not_modelled("moe-expert-capacity-factor",
                   "without --moe-pad-expert-input-to-capacity no token is dropped");
    }
    set("num-experts", "T.experts.dropless", "true");
  }

  /// `([0]*3+[1]*58)` has three dense layers at the beginning, `([0]+[1]*26)` one.
  void dense_layers() {
    const std::string text = settings_.text("moe-layer-freq");
    std::smatch found;
    if (std::regex_search(text, found, std::regex{R"(^\(?\s*\[0\]\s*(?:\*\s*(\d{1,6}))?)"})) {
      set("moe-layer-freq", "T.experts.dense_layers", found[1].matched ? found[1].str() : "1");
    } else if (!text.empty() && text != "1") {
      not_modelled("moe-layer-freq", "every layer has experts");
    }
  }

  void precision() {
    for (const char* key : {"fp8-format", "fp8", "fp8-hybrid"}) {
      if (settings_.is_on(key)) {
        set(key, "W.precision", "fp8");
        fp8_recipe();
      }
    }
    for (const char* key : {"bf16", "fp16"}) {
      if (settings_.is_on(key) && draft_.text("W.precision") != "fp8") {
        set(key, "W.precision", key);
      }
    }
    if (!draft_.has("W.precision")) {
      draft_.assume("W.precision", "fp32", "Megatron-LM without --bf16 and --fp16");
    }
  }

  void fp8_recipe() {
    const std::string recipe = settings_.text("fp8-recipe");
    if (recipe == "tensorwise") {
      set("fp8-recipe", "F.fp8_scaling", "current");
    } else if (!recipe.empty() && recipe != "delayed") {
      not_modelled("fp8-recipe", "scales are those of whole tensors, by magnitudes of steps before");
    }
  }

  void optimizer() {
    if (settings_.is_on("use-distributed-optimizer")) {
      set("use-distributed-optimizer", "P.sharding", "zero1");
    }
    for (const char* key : {"use-torch-fsdp2", "use-custom-fsdp", "use-megatron-fsdp"}) {
      if (settings_.is_on(key)) {
        set(key, "P.sharding", "zero3");
      }
    }
    if (settings_.is_on("use-torch-fsdp2")) {
      set("use-torch-fsdp2", "P.zero3_implementation", "fsdp2");
    }
    if (const std::string name = settings_.text("optimizer");
        !name.empty() && name != "adam" && name != "adamw") {
      not_modelled("optimizer", "the optimizer is Adam");
    }
    if (settings_.is_on("overlap-grad-reduce")) {
      set("overlap-grad-reduce", "P.overlap_gradients", "true");
    } else if (draft_.text("P.sharding") != "zero3") {
      draft_.assume("P.overlap_gradients", "false", "Megatron-LM without --overlap-grad-reduce");
    }
    if (const Setting* clip = settings_.use("clip-grad"); clip == nullptr || turns_on(clip->value)) {
      if (clip == nullptr) {
        draft_.assume("W.clip_gradients", "true", "Megatron-LM's default of --clip-grad");
      } else if (clip->value.scalar != "0.0") {
        set("clip-grad", "W.clip_gradients", "true");
      }
    }
  }

  void pipeline() {
    const auto stages = settings_.whole_number("pipeline-model-parallel-size").value_or(1);
    settings_.forget("pipeline-model-parallel-size");
    const auto layers = settings_.whole_number("num-layers");
    settings_.forget("num-layers");
    const auto by_layers = settings_.whole_number("num-layers-per-virtual-pipeline-stage");
    const auto by_stages = settings_.whole_number("num-virtual-stages-per-pipeline-rank");
    const char* key =
        by_layers ? "num-layers-per-virtual-pipeline-stage" : "num-virtual-stages-per-pipeline-rank";
    std::int64_t chunks = by_stages.value_or(1);
    if (by_layers && layers && *by_layers > 0 && stages > 0) {
      chunks = *layers / stages / *by_layers;
    } else if (by_layers) {
      not_modelled(key, "without --num-layers it is not known how many chunks that makes");
    }
    if (chunks > 1 && stages > 1) {
      set(key, "P.schedule", "interleaved");
      set(key, "P.chunks", std::to_string(chunks));
      if (settings_.is_on("no-overlap-p2p-communication")) {
        set("no-overlap-p2p-communication", "P.overlap_p2p", "false");
      }
    }
    static_cast<void>(settings_.use("no-overlap-p2p-communication"));
  }

  void recompute() {
    const std::string granularity = settings_.text("recompute-granularity");
    const bool is_selective = settings_.is_on("recompute-activations");
    if (granularity == "full" || granularity == "selective") {
      set("recompute-granularity", "P.recompute", granularity);
    } else if (is_selective) {
      set("recompute-activations", "P.recompute", "selective");
    }
    const std::string method = settings_.text("recompute-method");
    const auto count = settings_.whole_number("recompute-num-layers");
    if (granularity == "full" && count && (method == "block" || *count > 1)) {
      not_modelled("recompute-num-layers", "every layer is recomputed, each from its own input");
    }
  }

  /// Sizes that Megatron-LM computes from others.
  void derived() {
    vocabulary();
    const auto hidden = static_cast<std::int64_t>(draft_.number("T.hidden", 0));
    if (!draft_.has("T.feed_forward") && draft_.text("T.activation") == "swiglu") {
      draft_.assume("T.feed_forward", std::to_string(usual_width(hidden)),
                    "Megatron-LM's default with --swiglu");
    }
    if (!draft_.has("T.positions") && draft_.has("T.sequence")) {
      draft_.assume("T.positions", draft_.text("T.sequence"), "as many as --seq-length");
    }
  }

  /// Padded to a multiple of --make-vocab-size-divisible-by and of the tensor-parallel ranks.
  void vocabulary() {
    if (const auto padded = settings_.whole_number("padded-vocab-size")) {
      return set("padded-vocab-size", "T.vocabulary", std::to_string(*padded));
    }
    constexpr std::int64_t kUsual = 128, kGpt2 = 50257, kLlama3 = 128256;
    const auto multiple =
        std::max<std::int64_t>(1, settings_.whole_number("make-vocab-size-divisible-by").value_or(kUsual)) *
        std::max<std::int64_t>(1, static_cast<std::int64_t>(draft_.number("P.tensor", 1)));
    const auto padded = [&](std::int64_t size) { return (size + multiple - 1) / multiple * multiple; };
    if (const auto size = settings_.whole_number("vocab-size")) {
      return set("vocab-size", "T.vocabulary", std::to_string(padded(*size)));
    }
    if (draft_.has("T.vocabulary")) {
      return;
    }
    const bool is_gpt2 = settings_.text("tokenizer-type").starts_with("GPT2");
    draft_.assume("T.vocabulary", std::to_string(padded(is_gpt2 ? kGpt2 : kLlama3)),
                  is_gpt2 ? "that of GPT-2's tokenizer, padded" : "no file says it; that of Llama 3, padded");
  }

  Settings& settings_;
  Source source_;
  Draft& draft_;
};

}  // namespace

bool is_megatron_key(std::string_view key) {
  constexpr std::array<std::string_view, 6> kSure{"num-layers",       "tensor-model-parallel-size",
                                                  "micro-batch-size", "pipeline-model-parallel-size",
                                                  "seq-length",       "num-attention-heads"};
  return std::ranges::count(kSure, key) > 0;
}

void read_megatron_settings(Settings& settings, const Source& source, Draft& draft) {
  Megatron{settings, source, draft}.read();
}

}  // namespace lockstep::importing
