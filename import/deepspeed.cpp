#include "import/deepspeed.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "import/words.hpp"

namespace lockstep::importing {
namespace {

using enum Meaning;

constexpr auto kDeepSpeedWords = std::to_array<Word>({
    {"zero_optimization.zero_hpz_partition_size", NotModelled, "ZeRO++: weights have no second shares"},
    {"zero_optimization.zero_quantized_*", NotModelled, "ZeRO++: collectives carry 16 bits"},
    {"zero_optimization.mics_shard_size", NotModelled, "MiCS: see parallelism.shard_group"},
    {"zero_optimization.offload_optimizer.ratio", NotModelled, "all of the optimizer is offloaded"},
    {"zero_optimization.offload_*"},
    {"zero_optimization.overlap_comm"},
    {"zero_optimization.*"},
    {"tensor_parallel.autotp_size", NotModelled, "DeepSpeed's AutoTP is not known"},
    {"pipeline.*"},
    {"flops_profiler.*"},
    {"wandb.*"},
    {"tensorboard.*"},
    {"csv_monitor.*"},
    {"comms_logger.*"},
    {"comet.*"},
    {"autotuning.*"},
    {"checkpoint.*"},
    {"data_types.*"},
    {"elasticity.*"},
    {"activation_checkpointing.*", NoEffect},
    {"scheduler.*"},
    {"optimizer.params.*"},
    {"fp16.*"},
    {"bf16.*"},
    {"bfloat16.*"},
    {"amp.*", NotModelled, "Apex's amp: see model.framework.apex"},
    {"steps_per_print"},
    {"wall_clock_breakdown"},
    {"dump_state"},
    {"prescale_gradients"},
    {"gradient_predivide_factor"},
    {"zero_allow_untested_optimizer"},
    {"zero_force_ds_cpu_optimizer"},
    {"disable_allgather"},
    {"communication_data_type", NotModelled, "gradients are reduced in their own type"},
    {"sparse_gradients", NotModelled, "gradients are dense"},
    {"sparse_attention.*", NotModelled, "attention is dense"},
    {"curriculum_learning.*"},
    {"data_efficiency.*"},
    {"compression_training.*", NotModelled, "weights are whole"},
    {"aio.*"},
    {"gradient_accumulation_dtype"},
    {"memory_breakdown"},
    {"seed"},
    {"hybrid_engine.*"},
    {"train_micro_batch_size_per_gpu"},
    {"train_batch_size"},
    {"gradient_accumulation_steps"},
    {"gradient_clipping"},
});

/// Whether a value is to be filled in by the Trainer.
bool is_auto(const Setting& setting) {
  return setting.value.kind == YamlNode::Kind::Scalar && setting.value.scalar == "auto";
}

class DeepSpeed {
 public:
  DeepSpeed(const SourceFile& file, Draft& draft) : settings_{Settings::of_tree(*file.tree)}, draft_{draft} {}

  void read() {
    draft_.trainer = Trainer::DeepSpeed;
    if (const Setting* stage = settings_.use("zero_optimization.stage")) {
      set_zero_stage(*stage, draft_);
    }
    number("train_batch_size", "W.global_batch");
    number("train_micro_batch_size_per_gpu", "W.micro_batch");
    number("gradient_accumulation_steps", "W.gradient_accumulation");
    precision();
    offload();
    if (const Setting* clip = settings_.use("gradient_clipping");
        clip != nullptr && turns_on(clip->value) && clip->value.scalar != "0.0" && !is_auto(*clip)) {
      draft_.set("W.clip_gradients", "true", source_of(*clip));
    }
    optimizer();
    apply(kDeepSpeedWords, settings_, draft_);
  }

 private:
  void number(const char* key, const std::string& path) {
    const Setting* setting = settings_.use(key);
    if (setting == nullptr) {
      return;
    }
    if (is_auto(*setting)) {
      draft_.remark(Remark::Kind::Unsaid, source_of(*setting), "is \"auto\": the Trainer's arguments say it");
      return;
    }
    draft_.set(path, std::to_string(whole_number_of(*setting)), source_of(*setting));
  }

  void precision() {
    for (const auto& [key, name] : {std::pair{"bf16.enabled", "bf16"}, std::pair{"bfloat16.enabled", "bf16"},
                                    std::pair{"fp16.enabled", "fp16"}}) {
      const Setting* setting = settings_.use(key);
      if (setting != nullptr && turns_on(setting->value) && !is_auto(*setting)) {
        draft_.set("W.precision", name, source_of(*setting));
      }
    }
  }

  void offload() {
    const auto is_offloaded = [&](const char* key) {
      const Setting* device = settings_.use(key);
      if (device == nullptr || !turns_on(device->value)) {
        return false;
      }
      if (device->value.scalar == "nvme") {
        draft_.remark(Remark::Kind::NotModelled, source_of(*device),
                      "states are in host memory, not on NVMe");
      }
      return true;
    };
    const bool parameters = is_offloaded("zero_optimization.offload_param.device");
    const bool states = is_offloaded("zero_optimization.offload_optimizer.device") ||
                        settings_.is_on("zero_optimization.cpu_offload");
    if (parameters && states) {
      draft_.set("P.offload", "parameters",
                 source_of(*settings_.use("zero_optimization.offload_param.device")));
    } else if (states) {
      const Setting* key = settings_.use("zero_optimization.offload_optimizer.device");
      draft_.set("P.offload", "optimizer",
                 source_of(key != nullptr ? *key : *settings_.use("zero_optimization.cpu_offload")));
    } else if (parameters) {
      draft_.remark(Remark::Kind::NotModelled,
                    source_of(*settings_.use("zero_optimization.offload_param.device")),
                    "offloaded parameters without the optimizer are not known");
    }
  }

  void optimizer() {
    const Setting* type = settings_.use("optimizer.type");
    if (type != nullptr && type->value.scalar.find("dam") == std::string::npos) {
      draft_.remark(Remark::Kind::NotModelled, source_of(*type), "the optimizer is AdamW");
    } else if (type != nullptr && type->value.scalar.find("Bit") != std::string::npos) {
      draft_.remark(Remark::Kind::NotModelled, source_of(*type), "gradients are not compressed");
    } else if (type != nullptr) {
      draft_.remark(Remark::Kind::NoEffect, source_of(*type));
    }
  }

  Settings settings_;
  Draft& draft_;
};

}  // namespace

void set_zero_stage(const Setting& stage, Draft& draft) {
  constexpr std::int64_t kMost = 3;
  const std::int64_t number = whole_number_of(stage);
  if (number < 0 || number > kMost) {
    throw InputError{stage.value.at, fmt::format("{}: ZeRO has stages 0 to 3, not {}", stage.shown, number)};
  }
  draft.set("P.sharding", number == 0 ? "none" : "zero" + std::to_string(number), source_of(stage));
}

bool is_deepspeed(const SourceFile& file) {
  return file.root_key("zero_optimization") != nullptr ||
         file.root_key("train_micro_batch_size_per_gpu") != nullptr ||
         (file.root_key("train_batch_size") != nullptr && file.root_key("workload") == nullptr);
}

void read_deepspeed(const SourceFile& file, Draft& draft) {
  DeepSpeed{file, draft}.read();
}

}  // namespace lockstep::importing
