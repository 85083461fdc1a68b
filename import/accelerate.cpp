#include "import/accelerate.hpp"

#include <algorithm>
#include <array>

#include "import/deepspeed.hpp"
#include "import/settings.hpp"
#include "import/words.hpp"

namespace lockstep::importing {
namespace {

using enum Meaning;

constexpr auto kAccelerateWords = std::to_array<Word>({
    {"gradient_accumulation_steps", Number, "W.gradient_accumulation"},
    {"deepspeed_config.gradient_accumulation_steps", Number, "W.gradient_accumulation"},
    {"fsdp_config.fsdp_cpu_ram_efficient_loading"},
    {"fsdp_config.fsdp_sync_module_states"},
    {"fsdp_config.fsdp_state_dict_type"},
    {"fsdp_config.fsdp_use_orig_params"},
    {"fsdp_config.fsdp_auto_wrap_policy"},
    {"fsdp_config.fsdp_transformer_layer_cls_to_wrap"},
    {"fsdp_config.fsdp_backward_prefetch*"},
    {"fsdp_config.fsdp_forward_prefetch"},
    {"fsdp_config.fsdp_version"},
    {"fsdp_config.fsdp_min_num_params", NotModelled, "units are the layers"},
    {"fsdp_config.fsdp_offload_params", NotModelled, "FSDP's CPUOffload is not known"},
    {"deepspeed_config.zero3_*"},
    {"deepspeed_config.deepspeed_*"},
    {"deepspeed_config.gradient_clipping"},
    {"deepspeed_config.offload_*"},
    {"deepspeed_config.zero_stage"},
    {"dynamo_config.*", NotModelled, "see model.framework.compile"},
    {"dynamo_backend", NotModelled, "see model.framework.compile"},
    {"megatron_lm_config.*", NotModelled, "give Megatron-LM's own arguments"},
    {"fp8_config.*"},
    {"parallelism_config.*", NotModelled, "of Accelerate's own plans FSDP is known"},
    {"compute_environment"},
    {"debug"},
    {"downcast_bf16"},
    {"machine_rank"},
    {"main_*"},
    {"rdzv_backend"},
    {"same_network"},
    {"tpu_*"},
    {"use_cpu"},
    {"gpu_ids"},
    {"enable_cpu_affinity"},
    {"command_file"},
    {"commands"},
    {"distributed_type"},
    {"mixed_precision"},
    {"ipex_config.*"},
    {"num_cpu_threads_per_process"},
});

class Accelerate {
 public:
  Accelerate(const SourceFile& file, Draft& draft)
      : settings_{Settings::of_tree(*file.tree)}, draft_{draft} {}

  void read() {
    draft_.trainer =
        settings_.text("distributed_type") == "DEEPSPEED" ? Trainer::DeepSpeed : Trainer::HuggingFace;
    if (const auto gpus = settings_.whole_number("num_processes"); gpus && *gpus > 0) {
      draft_.gpus = static_cast<int>(std::min<std::int64_t>(*gpus, kMostGpus));
    }
    if (const auto nodes = settings_.whole_number("num_machines"); nodes && *nodes > 0) {
      draft_.nodes = static_cast<int>(std::min<std::int64_t>(*nodes, kMostGpus));
    }
    if (const Setting* type = settings_.use("mixed_precision"); type != nullptr && turns_on(type->value)) {
      precision(*type);
    }
    if (settings_.text("distributed_type") == "FSDP") {
      fsdp();
    }
    deepspeed();
    apply(kAccelerateWords, settings_, draft_);
  }

 private:
  static constexpr std::int64_t kMostGpus = 1'000'000;

  void set(std::string_view key, const std::string& path, const std::string& value) {
    draft_.set(path, value, source_of(*settings_.use(key)));
  }

  void precision(const Setting& type) {
    if (type.value.scalar == "fp8") {
      draft_.remark(Remark::Kind::NotModelled, source_of(type),
                    "FP8 is known of Megatron and torchtitan; BF16 here");
      draft_.set("W.precision", "bf16", source_of(type));
    } else {
      draft_.set("W.precision", type.value.scalar, source_of(type));
    }
  }

  void fsdp() {
    draft_.fsdp = settings_.text("fsdp_config.fsdp_version") == "2" ? "fsdp2" : "fsdp";
    const std::string strategy = settings_.text("fsdp_config.fsdp_sharding_strategy");
    const char* key = strategy.empty() ? "distributed_type" : "fsdp_config.fsdp_sharding_strategy";
    if (strategy == "NO_SHARD" || strategy == "3") {
      set(key, "P.sharding", "none");
      draft_.fsdp.clear();
    } else {
      set(key, "P.sharding", "zero3");
      if (strategy == "SHARD_GRAD_OP" || strategy == "2") {
        set(key, "P.reshard_after_forward", "false");
      }
      hybrid_ = strategy.starts_with("HYBRID") || strategy == "4" || strategy == "5";
      if (hybrid_ && draft_.gpus && draft_.nodes) {
        set(key, "P.shard_group", std::to_string(*draft_.gpus / *draft_.nodes));
      }
    }
    const Setting* reshard = settings_.use("fsdp_config.fsdp_reshard_after_forward");
    if (reshard != nullptr && !turns_on(reshard->value)) {
      draft_.set("P.reshard_after_forward", "false", source_of(*reshard));
    }
    if (settings_.is_on("fsdp_config.fsdp_activation_checkpointing")) {
      set("fsdp_config.fsdp_activation_checkpointing", "P.recompute", "full");
    }
  }

  void deepspeed() {
    if (const Setting* stage = settings_.use("deepspeed_config.zero_stage")) {
      set_zero_stage(*stage, draft_);
    }
    const bool parameters = settings_.text("deepspeed_config.offload_param_device") == "cpu";
    if (settings_.text("deepspeed_config.offload_optimizer_device") == "cpu") {
      set("deepspeed_config.offload_optimizer_device", "P.offload", parameters ? "parameters" : "optimizer");
    }
    if (settings_.is_on("deepspeed_config.gradient_clipping")) {
      set("deepspeed_config.gradient_clipping", "W.clip_gradients", "true");
    }
    if (const Setting* file = settings_.use("deepspeed_config.deepspeed_config_file")) {
      draft_.remark(Remark::Kind::Unsaid, source_of(*file), "give this file on the command line too");
    }
  }

  Settings settings_;
  Draft& draft_;
  bool hybrid_ = false;
};

}  // namespace

bool is_accelerate(const SourceFile& file) {
  return file.root_key("distributed_type") != nullptr &&
         (file.root_key("compute_environment") != nullptr || file.root_key("num_processes") != nullptr);
}

void read_accelerate(const SourceFile& file, Draft& draft) {
  Accelerate{file, draft}.read();
}

}  // namespace lockstep::importing
