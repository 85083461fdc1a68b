#include "import/torchtitan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/yaml_text.hpp"
#include "import/settings.hpp"
#include "import/words.hpp"

namespace lockstep::importing {
namespace {

using enum Meaning;

constexpr auto kTitanWords = std::to_array<Word>({
    {"training.batch_size", Number, "W.micro_batch"},
    {"training.local_batch_size", Number, "W.micro_batch"},
    {"training.seq_len", Number, "W.sequence"},
    {"parallelism.tensor_parallel_degree", Number, "P.tensor"},
    {"parallelism.pipeline_parallel_degree", Number, "P.pipeline"},
    {"parallelism.context_parallel_degree", Number, "P.context"},
    {"parallelism.expert_parallel_degree", Number, "P.expert"},
    {"parallelism.expert_tensor_parallel_degree", Number, "P.expert_tensor"},
    {"training.tensor_parallel_degree", Number, "P.tensor"},
    {"experimental.pipeline_parallel_degree", Number, "P.pipeline"},
    {"experimental.context_parallel_degree", Number, "P.context"},
    {"experimental.enable_async_tensor_parallel", Switch, "P.tensor_overlap"},
    {"parallelism.enable_async_tensor_parallel", Switch, "P.tensor_overlap"},
    {"parallelism.enable_loss_parallel"},
    {"parallelism.disable_loss_parallel", NotModelled, "the loss is computed where the logits are"},
    {"parallelism.context_parallel_rotate_method"},
    {"parallelism.pipeline_parallel_microbatch_size"},
    {"parallelism.pipeline_parallel_split_points", NotModelled, "stages are as even as they go"},
    {"parallelism.enable_compiled_autograd", NotModelled, "backward is not compiled as a whole"},
    {"training.enable_cpu_offload", NotModelled, "FSDP's CPUOffload is not known"},
    {"activation_checkpoint.early_stop"},
    {"activation_checkpoint.*"},
    {"compile.components"},
    {"optimizer.early_step_in_backward", NotModelled, "the optimizer follows backward"},
    {"float8.recipe_name", NotModelled, "scales are those of whole tensors"},
    {"mx.*", NotModelled, "MXFP8 is not known"},
    {"quantize.*", NotModelled, "of quantised training float8 with a scale a tensor is known"},
    {"job.*"},
    {"profiling.*"},
    {"metrics.*"},
    {"lr_scheduler.*"},
    {"checkpoint.*"},
    {"optimizer.*"},
    {"comm.*"},
    {"validation.*"},
    {"experimental.*"},
    {"memory_estimation.*"},
    {"fault_tolerance.*"},
    {"float8.*"},
    {"training.steps"},
    {"training.dataset*"},
    {"training.warmup_steps"},
    {"training.max_norm"},
    {"training.seed"},
    {"training.deterministic"},
    {"training.gc_freq"},
    {"training.mixed_precision_*"},
    {"training.dtype"},
    {"debug.*"},
    {"model.hf_assets_path"},
    {"model.tokenizer_path"},
    {"model.norm_type"},
    {"model.print_after_conversion"},
    {"training.fsdp_reshard_after_forward"},
});

struct Flavor {
  std::string_view name, flavor, model;
};
constexpr auto kFlavors = std::to_array<Flavor>({
    {"llama3", "8B", "llama3_8b"},
    {"llama3", "70B", "llama3_70b"},
    {"llama3", "405B", "llama3_405b"},
    {"llama2", "7B", "llama2_7b"},
    {"llama2", "70B", "llama2_70b"},
    {"qwen3", "8B", "qwen3_8b"},
    {"qwen3", "30B-A3B", "qwen3_30b_a3b"},
    {"deepseek_v3", "671B", "deepseek_v3"},
});

class TorchTitan {
 public:
  TorchTitan(const SourceFile& file, Draft& draft)
      : file_{file}, settings_{Settings::of_tree(*file.tree)}, draft_{draft} {}

  void read() {
    draft_.trainer = Trainer::TorchTitan;
    model();
    precision();
    sharding();
    pipeline();
    recompute();
    if (settings_.is_on("compile.enable") || settings_.is_on("training.compile")) {
      const char* key = settings_.use("compile.enable") != nullptr ? "compile.enable" : "training.compile";
      set(key, "F.compile", "inductor");
    }
    if (const auto batch = settings_.whole_number("training.global_batch_size"); batch && *batch > 0) {
      set("training.global_batch_size", "W.global_batch", std::to_string(*batch));
    }
    const Setting* norm = settings_.use("training.max_norm");
    draft_.set(
        "W.clip_gradients", "true",
        norm != nullptr ? source_of(*norm) : Source{{file_.name, 1, 1}, "training.max_norm, 1.0 by default"});
    apply(kTitanWords, settings_, draft_);
    tensor();
  }

 private:
  void set(std::string_view key, const std::string& path, const std::string& value) {
    draft_.set(path, value, source_of(*settings_.use(key)));
  }

  void model() {
    const std::string name = settings_.text("model.name"), flavor = settings_.text("model.flavor");
    const Setting* said = settings_.use("model.flavor");
    const auto found = std::ranges::find_if(
        kFlavors, [&](const Flavor& row) { return row.name == name && row.flavor == flavor; });
    if (said == nullptr || draft_.has("T.layers")) {
      return;  // another file has the model
    }
    if (found != kFlavors.end()) {
      set("model.flavor", "M.from", std::string{found->model});
    } else {
      draft_.remark(
          Remark::Kind::Unsaid, source_of(*said),
          fmt::format("the sizes of '{}' '{}' are in torchtitan's code: give the model's config.json too",
                      name, flavor));
    }
  }

  void precision() {
    bool is_float8 = settings_.is_on("float8.enable_float8_linear");
    const Setting* converters = settings_.use("model.converters");
    if (converters != nullptr) {
      is_float8 |= flow_text(converters->value).find("float8") != std::string::npos;
    }
    if (is_float8) {
      set(converters != nullptr ? "model.converters" : "float8.enable_float8_linear", "W.precision", "fp8");
      return;
    }
    if (settings_.text("training.mixed_precision_param") == "float32") {
      set("training.mixed_precision_param", "W.precision", "fp32");
    } else {
      draft_.assume("W.precision", "bf16", "torchtitan's default of mixed_precision_param");
    }
  }

  void sharding() {
    const auto first_of = [&](const char* now, const char* before) {
      return settings_.use(now) != nullptr ? now : before;
    };
    const char* shard =
        first_of("parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree");
    const char* replicate =
        first_of("parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree");
    const auto degree = settings_.whole_number(shard), replicas = settings_.whole_number(replicate);
    if (degree.value_or(-1) != 1) {
      if (degree) {
        set(shard, "P.sharding", "zero3");
      } else {
        draft_.assume("P.sharding", "zero3", "torchtitan's default of data_parallel_shard_degree, -1");
      }
      draft_.fsdp = "fsdp2";
      if (degree && *degree > 1 && replicas.value_or(1) > 1) {
        set(shard, "P.shard_group", std::to_string(*degree));
      }
    }
    const std::string reshard = settings_.text("parallelism.fsdp_reshard_after_forward");
    if (reshard == "never") {
      set("parallelism.fsdp_reshard_after_forward", "P.reshard_after_forward", "false");
    }
  }

  void pipeline() {
    for (const char* key :
         {"parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule"}) {
      std::string text = settings_.text(key);
      std::ranges::transform(text, text.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      if (text == "gpipe") {
        set(key, "P.schedule", "gpipe");
      } else if (text == "interleaved1f1b") {
        set(key, "P.schedule", "interleaved");
        draft_.assume("P.chunks", "2", "torchtitan's stages a rank, where layers per stage are not said");
      } else if (!text.empty() && text != "1f1b") {
        draft_.remark(Remark::Kind::NotModelled, source_of(*settings_.use(key)), "the order is 1F1B");
      }
    }
    const auto stages = settings_.whole_number("parallelism.pipeline_parallel_degree").value_or(1);
    settings_.forget("parallelism.pipeline_parallel_degree");
    keep_gathered(stages > 1);
    if (stages <= 1) {
      draft_.drop("P.schedule");
      draft_.drop("P.chunks");
    }
  }

  /// `fsdp_reshard_after_forward: default` keeps parameters with a pipeline, whose micro-batches all need
  /// them, and reduces gradients behind the last (torchtitan/models/llama3/infra/parallelize.py).
  void keep_gathered(bool has_pipeline) {
    if (!has_pipeline || draft_.text("P.sharding") != "zero3") {
      return;
    }
    if (!draft_.has("P.reshard_after_forward")) {
      draft_.assume("P.reshard_after_forward", "false", "torchtitan's default with a pipeline");
    }
    draft_.assume("P.reduce_each_micro_batch", "false", "torchtitan reduces behind the last micro-batch");
  }

  void recompute() {
    const std::string mode = settings_.text("activation_checkpoint.mode");
    const Setting* option = settings_.use("activation_checkpoint.selective_ac_option");
    if (mode == "full") {
      set("activation_checkpoint.mode", "P.recompute", "full");
    } else if (mode == "selective" && option != nullptr && option->value.scalar != "op") {
      set("activation_checkpoint.mode", "P.recompute", "full");
      set("activation_checkpoint.selective_ac_option", "P.recompute_every",
          std::to_string(whole_number_of(*option)));
    } else if (mode == "selective") {
      set("activation_checkpoint.mode", "P.recompute", "operators");
    }
  }

  /// torchtitan's tensor parallelism is sequence parallel always.
  void tensor() {
    if (const DraftKey* degree = draft_.find("P.tensor");
        degree != nullptr && draft_.number("P.tensor", 1) > 1) {
      const Source source{degree->value.at, degree->key};
      draft_.set("P.sequence_parallel", "true", source);
      if (draft_.has(
              "F.compile")) {  // loss_parallel, on by default: torchtitan compiles no loss of shared logits
        draft_.set("F.compiled_loss", "eager", source);
      }
    }
  }

  const SourceFile& file_;
  Settings settings_;
  Draft& draft_;
};

}  // namespace

bool is_torchtitan(const SourceFile& file) {
  return file.root_key("training") != nullptr &&
         (file.root_key("parallelism") != nullptr || file.root_key("activation_checkpoint") != nullptr ||
          file.root_key("job") != nullptr) &&
         file.root_key("workload") == nullptr;
}

void read_torchtitan(const SourceFile& file, Draft& draft) {
  TorchTitan{file, draft}.read();
}

}  // namespace lockstep::importing
