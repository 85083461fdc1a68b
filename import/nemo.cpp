#include "import/nemo.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "import/launcher.hpp"
#include "import/megatron_settings.hpp"
#include "import/settings.hpp"

namespace lockstep::importing {
namespace {

/// NeMo's names, where they are not Megatron-LM's with underscores.
constexpr auto kNemoNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"encoder-seq-length", "seq-length"},
    {"virtual-pipeline-model-parallel-size", "num-virtual-stages-per-pipeline-rank"},
    {"activations-checkpoint-granularity", "recompute-granularity"},
    {"activations-checkpoint-method", "recompute-method"},
    {"activations-checkpoint-num-layers", "recompute-num-layers"},
    {"gradient-clip-val", "clip-grad"},
    {"gradient-accumulation-fusion", ""},
    {"rotary-percentage", "rotary-percent"},
    {"num-moe-experts", "num-experts"},
    {"moe-router-topk", "moe-router-topk"},
    {"ub-tp-comm-overlap", "tp-comm-overlap"},
    {"use-flash-attention", "use-flash-attn"},
    {"overlap-grad-sync", "overlap-grad-reduce"},
    {"average-in-collective", "ddp-average-in-collective"},
});

/// Keys of groups that say nothing of a step.
constexpr auto kGroups = std::to_array<std::string_view>(
    {"exp_manager.", "checkpoint.", "logger.", "dataset.", "tokenizer.", "model.tokenizer.", "rng.",
     "profiling.", "model.data.data_prefix", "model.data.index_mapping_dir", "model.data.splits_string",
     "scheduler.", "model.nsys_profile.", "run.", "hydra.", "model.optim.sched.", "trainer.logger",
     "trainer.enable_"});

/// The value that `${model.seq_length}` names.
const YamlNode* referenced(const YamlNode& root, std::string path) {
  const YamlNode* node = &root;
  while (node != nullptr && !path.empty()) {
    const auto point = path.find('.');
    const YamlEntry* entry =
        node->kind == YamlNode::Kind::Mapping ? node->find(path.substr(0, point)) : nullptr;
    node = entry == nullptr ? nullptr : &entry->value;
    path = point == std::string::npos ? "" : path.substr(point + 1);
  }
  return node;
}

void resolve_references(YamlNode& node, const YamlNode& root) {
  for (YamlEntry& entry : node.entries) {
    resolve_references(entry.value, root);
  }
  constexpr std::size_t kBrackets = 3;
  if (node.kind == YamlNode::Kind::Scalar && node.scalar.starts_with("${") && node.scalar.ends_with('}')) {
    std::string path = node.scalar.substr(2, node.scalar.size() - kBrackets);
    path.erase(0, path.find_first_not_of('.'));
    const YamlNode* value = referenced(root, path);
    if (value == nullptr) {
      value = referenced(root, "model." + path);  // ${.seq_length} within the model
    }
    if (value != nullptr && value->kind == YamlNode::Kind::Scalar) {
      node.scalar = value->scalar;
    }
  }
}

std::string megatron_name(const std::string& key) {
  std::string name = key.substr(key.rfind('.') == std::string::npos ? 0 : key.rfind('.') + 1);
  std::ranges::replace(name, '_', '-');
  const auto found =
      std::ranges::find(kNemoNames, std::string_view{name}, [](const auto& row) { return row.first; });
  return found == kNemoNames.end() ? name : std::string{found->second};
}

Setting renamed(const Setting& setting, std::string key, std::optional<std::string> value = std::nullopt) {
  Setting made = setting;
  made.key = std::move(key);
  if (value) {
    made.value.kind = YamlNode::Kind::Scalar;
    made.value.scalar = *value;
  }
  return made;
}

/// Values that NeMo has where Megatron-LM has an argument of its own.
void translate(const Setting& setting, const std::string& name, Settings& out, Draft& draft) {
  const bool on = turns_on(setting.value);
  const std::string& value = setting.value.scalar;
  if (name == "bias" || name == "add-bias-linear") {
    out.add(renamed(setting, "disable-bias-linear", on ? "false" : "true"));
  } else if (name == "share-embeddings-and-output-weights") {
    out.add(renamed(setting, "untie-embeddings-and-output-weights", on ? "false" : "true"));
  } else if (name == "activation" || name == "gated-linear-unit") {
    const bool is_gated = name == "activation" ? value.find("swiglu") != std::string::npos : on;
    out.add(renamed(setting, "swiglu", is_gated ? "true" : "false"));
  } else if (name == "normalization") {
    out.add(renamed(setting, name, value.starts_with("rms") || value == "RMSNorm" ? "RMSNorm" : "LayerNorm"));
  } else if (name == "precision" || name == "mixed-precision") {
    const bool is_bf16 = value.find("bf16") != std::string::npos;
    if (is_bf16 || value.find("16") != std::string::npos) {
      out.add(renamed(setting, is_bf16 ? "bf16" : "fp16", "true"));
    }
    if (value.find("fp8") != std::string::npos) {
      out.add(renamed(setting, "fp8", "true"));
    }
  } else if (name == "num-query-groups") {
    if (setting.value.kind != YamlNode::Kind::Null) {
      out.add(renamed(setting, name));
      out.add(renamed(setting, "group-query-attention", "true"));
    }
  } else if (setting.key.ends_with("optim.name") || name == "optimizer") {
    out.add(renamed(setting, "optimizer", value.find("adam") != std::string::npos ? "adam" : value));
    if (value == "distributed_fused_adam") {
      out.add(renamed(setting, "use-distributed-optimizer", "true"));
    }
  } else if (name.empty() || name == "name" || name == "-target-") {
    draft.remark(Remark::Kind::NoEffect, source_of(setting));
  } else {
    out.add(renamed(setting, name));
  }
}

}  // namespace

bool is_nemo(const SourceFile& file) {
  const YamlNode* model = file.root_key("model");
  if (model == nullptr || model->kind != YamlNode::Kind::Mapping) {
    return false;
  }
  const bool has_loop = file.root_key("trainer") != nullptr || file.root_key("train") != nullptr ||
                        file.root_key("ddp") != nullptr;
  return has_loop || model->find("tensor_model_parallel_size") != nullptr ||
         model->find("num_layers") != nullptr;
}

void read_nemo(const SourceFile& file, Draft& draft) {
  YamlNode tree = *file.tree;
  resolve_references(tree, *file.tree);
  Settings written = Settings::of_tree(tree);
  Settings settings, launcher;
  for (const Setting* setting : written.unused()) {
    if (std::ranges::any_of(kGroups,
                            [&](std::string_view group) { return setting->key.starts_with(group); })) {
      draft.remark(Remark::Kind::NoEffect, source_of(*setting));
    } else if (setting->key.starts_with("trainer.") || setting->key.starts_with("resources.")) {
      const std::string name = megatron_name(setting->key);
      if (name == "devices" || name == "num-nodes" || name == "gpus-per-node") {
        launcher.add(renamed(*setting, name));
      } else if (name == "precision" || name == "clip-grad") {
        translate(*setting, name, settings, draft);
      } else {
        draft.remark(Remark::Kind::NoEffect, source_of(*setting));
      }
    } else {
      translate(*setting, megatron_name(setting->key), settings, draft);
    }
  }
  read_launcher(launcher, draft);
  read_megatron_settings(settings, {{file.name, 1, 1}, "model"}, draft);
}

}  // namespace lockstep::importing
