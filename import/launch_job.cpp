#include "import/launch_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace lockstep::importing {
namespace {

/// torchtitan's names of schedules.
std::string_view titan_schedule(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::GPipe:
      return "GPipe";
    case PipelineSchedule::OneFOneB:
      return "1F1B";
    case PipelineSchedule::Interleaved:
      return "Interleaved1F1B";
    case PipelineSchedule::ZeroBubble:
      return "InterleavedZeroBubble";
  }
  return "1F1B";
}

void megatron_model(const TransformerSpec& model, LaunchFlags& out) {
  const auto number = [&](std::string_view flag, std::int64_t value) {
    out.add(true, fmt::format("--{} {}", flag, value));
  };
  number("num-layers", model.layers);
  number("hidden-size", model.hidden);
  number("ffn-hidden-size", model.feed_forward_width());
  number("num-attention-heads", model.heads);
  out.add(model.kv_heads.has_value(),
          fmt::format("--group-query-attention --num-query-groups {}", model.key_value_heads()));
  out.add(model.head_size.has_value() && !model.latent_attention,
          fmt::format("--kv-channels {}", model.size_of_head()));
  number("max-position-embeddings", model.positions);
  out.add(true, fmt::format("--vocab-size {} --make-vocab-size-divisible-by 1", model.vocabulary));
  out.add(model.normalisation == Normalisation::Rms, "--normalization RMSNorm");
  out.add(model.activation == Activation::SwiGlu, "--swiglu");
  out.add(model.position_encoding == PositionEncoding::Rotary, "--position-embedding-type rope");
  out.add(model.rotary_share < 1, fmt::format("--rotary-percent {}", model.rotary_share));
  out.lacks(model.position_encoding == PositionEncoding::Alibi, "Megatron-LM has no ALiBi");
  out.lacks(model.residual != Residual::Serial, "Megatron-LM has no parallel residual");
  out.add(!model.bias, "--disable-bias-linear");
  out.add(model.qkv_bias, "--add-qkv-bias");
  out.add(model.qk_norm, "--qk-layernorm");
  out.add(!model.tied, "--untie-embeddings-and-output-weights");
  out.add(!model.dropout, "--attention-dropout 0 --hidden-dropout 0");
  if (const auto& latent = model.latent_attention) {
    out.add(true, fmt::format("--multi-latent-attention --kv-lora-rank {} --qk-head-dim {} "
                              "--qk-pos-emb-head-dim {} --v-head-dim {}",
                              latent->key_value_rank, model.size_of_head(), latent->rotary_size,
                              latent->value_size));
    out.add(latent->query_rank.has_value(), fmt::format("--q-lora-rank {}", latent->query_rank.value_or(0)));
  }
}

void megatron_experts(const LaunchJob& job, LaunchFlags& out) {
  const auto& experts = job.model().experts;
  if (!experts) {
    return;
  }
  out.add(true,
          fmt::format("--num-experts {} --moe-router-topk {} --moe-ffn-hidden-size {} --moe-grouped-gemm",
                      experts->count, experts->per_token, experts->feed_forward));
  out.add(experts->shared > 0,
          fmt::format("--moe-shared-expert-intermediate-size {}", experts->shared * experts->feed_forward));
  out.add(experts->dense_layers > 0, fmt::format("--moe-layer-freq '([0]*{}+[1]*{})'", experts->dense_layers,
                                                 job.model().layers - experts->dense_layers));
  out.add(
      experts->are_padded(),
      fmt::format("--moe-expert-capacity-factor {} --moe-pad-expert-input-to-capacity", experts->capacity));
  out.add(true, "--moe-token-dispatcher-type alltoall");
  out.add(experts->fused_permutation, "--moe-permute-fusion");
  out.add(experts->fused_router, "--moe-router-fusion");
  out.add(true, fmt::format("--expert-model-parallel-size {} --expert-tensor-parallel-size {}",
                            job.plan().expert, job.plan().expert_tensor));
}

void megatron_plan(const LaunchJob& job, LaunchFlags& out) {
  const TransformerPlanSpec& plan = job.plan();
  out.add(true, fmt::format("--tensor-model-parallel-size {}", plan.tensor));
  out.add(plan.sequence_parallel, "--sequence-parallel");
  out.add(plan.tensor_overlap, "--tp-comm-overlap");
  out.add(true, fmt::format("--pipeline-model-parallel-size {}", plan.pipeline));
  out.add(plan.chunks > 1, fmt::format("--num-virtual-stages-per-pipeline-rank {}", plan.chunks));
  out.add(plan.chunks > 1 && !plan.overlap_p2p, "--no-overlap-p2p-communication");
  out.lacks(plan.pipeline > 1 &&
                (plan.schedule == PipelineSchedule::GPipe || plan.schedule == PipelineSchedule::ZeroBubble),
            "Megatron-LM's schedules are 1F1B and its interleaved one");
  out.lacks(!plan.stage_layers.empty(), "stage_layers: see --pipeline-model-parallel-layout");
  out.add(plan.context > 1, fmt::format("--context-parallel-size {}", plan.context));
  out.add(plan.context > 1 && plan.context_attention == ContextAttention::AllGather,
          "--cp-comm-type all_gather");
  out.add(plan.sharding == Sharding::Zero1, "--use-distributed-optimizer");
  out.lacks(plan.sharding == Sharding::Zero2,
            "sharding zero2: Megatron-LM has the distributed optimizer (zero1) and FSDP");
  out.add(plan.sharding == Sharding::Zero3 && plan.is_fsdp(),
          "--use-torch-fsdp2 --no-gradient-accumulation-fusion");
  out.add(plan.sharding == Sharding::Zero3 && !plan.is_fsdp(),
          "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
          "--no-gradient-accumulation-fusion");
  out.lacks(plan.zero3_implementation == Zero3Implementation::Fsdp ||
                plan.zero3_implementation == Zero3Implementation::DeepSpeed,
            "zero3_implementation: Megatron-LM has fully_shard and Megatron-FSDP");
  out.lacks(plan.shard_group.has_value(), "shard_group: see --num-distributed-optimizer-instances");
  out.lacks(plan.offload != Offload::None, "offload: see --optimizer-cpu-offload");
  out.add(plan.overlap_gradients && plan.sharding != Sharding::Zero3, "--overlap-grad-reduce");
  out.add(!plan.fp32_gradients, "--grad-reduce-in-bf16");
  out.add(plan.recompute == Recompute::Selective, "--recompute-granularity selective");
  out.add(plan.recompute == Recompute::Full,
          "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  out.lacks(plan.recompute == Recompute::Full && plan.recompute_every > 1, "recompute_every");
  out.lacks(plan.recompute == Recompute::Operators, "recompute operators is torchtitan's");
}

void megatron_precision(Precision precision, LaunchFlags& out) {
  out.add(precision == Precision::BF16 || precision == Precision::FP8, "--bf16");
  out.add(precision == Precision::FP16, "--fp16");
  out.add(precision == Precision::FP8, "--fp8-format hybrid");
}

}  // namespace

std::int64_t LaunchJob::micro_batch() const {
  if (workload.micro_batch) {
    return *workload.micro_batch;
  }
  return std::max<std::int64_t>(1,
                                workload.global_batch / std::max(1, data()) / workload.gradient_accumulation);
}

void LaunchFlags::add(bool wanted, std::string_view flag) {
  if (wanted) {
    flags.emplace_back(flag);
  }
}

void LaunchFlags::lacks(bool wanted, std::string_view why) {
  if (wanted) {
    missing.emplace_back(why);
  }
}

LaunchFlags megatron_flags(const LaunchJob& job) {
  LaunchFlags out;
  megatron_model(job.model(), out);
  megatron_experts(job, out);
  out.add(true, fmt::format("--seq-length {}", job.sequence()));
  out.add(true, fmt::format("--micro-batch-size {} --global-batch-size {}", job.micro_batch(),
                            job.workload.global_batch));
  megatron_plan(job, out);
  megatron_precision(job.workload.precision, out);
  out.add(job.workload.model->framework.fp8_parameters, "--fp8-param-gather");
  out.add(!job.workload.clip_gradients, "--clip-grad 0");
  return out;
}

LaunchFlags torchtitan_flags(const LaunchJob& job) {
  LaunchFlags out;
  const TransformerPlanSpec& plan = job.plan();
  const auto number = [&](std::string_view flag, std::int64_t value) {
    out.add(true, fmt::format("--{}={}", flag, value));
  };
  number("training.local_batch_size",
         plan.pipeline > 1 ? job.workload.global_batch / std::max(1, job.data()) : job.micro_batch());
  number("training.global_batch_size", job.workload.global_batch);
  number("training.seq_len", job.sequence());
  const int group = plan.shard_group.value_or(job.data() * plan.context);
  const bool shards = plan.sharding == Sharding::Zero3;
  number("parallelism.data_parallel_shard_degree", shards ? std::min(group, job.data()) : 1);
  number("parallelism.data_parallel_replicate_degree",
         shards ? std::max(1, job.data() / std::max(1, group)) : job.data());
  out.lacks(plan.sharding == Sharding::Zero1, "sharding zero1: torchtitan shards all (FSDP2) or replicates");
  out.add(shards, fmt::format("--parallelism.fsdp_reshard_after_forward={}",
                              plan.reshard_after_forward ? "always" : "never"));
  out.lacks(plan.sharding == Sharding::Zero2,
            "sharding zero2: FSDP2 with reshard_after_forward=never is nearest");
  number("parallelism.tensor_parallel_degree", plan.tensor);
  out.lacks(plan.tensor > 1 && !plan.sequence_parallel,
            "tensor parallelism of torchtitan is sequence parallel always");
  out.add(plan.tensor_overlap, "--parallelism.enable_async_tensor_parallel");
  number("parallelism.pipeline_parallel_degree", plan.pipeline);
  out.add(plan.pipeline > 1,
          fmt::format("--parallelism.pipeline_parallel_schedule={}", titan_schedule(plan.schedule)));
  out.add(plan.pipeline > 1,
          fmt::format("--parallelism.pipeline_parallel_microbatch_size={}", job.micro_batch()));
  number("parallelism.context_parallel_degree", plan.context);
  out.add(plan.expert > 1, fmt::format("--parallelism.expert_parallel_degree={}", plan.expert));
  switch (plan.recompute) {
    case Recompute::None:
      out.add(true, "--activation_checkpoint.mode=none");
      break;
    case Recompute::Full:
      out.add(
          true,
          plan.recompute_every > 1
              ? fmt::format(
                    "--activation_checkpoint.mode=selective --activation_checkpoint.selective_ac_option={}",
                    plan.recompute_every)
              : "--activation_checkpoint.mode=full");
      break;
    case Recompute::Operators:
    case Recompute::Selective:
      out.add(true, "--activation_checkpoint.mode=selective --activation_checkpoint.selective_ac_option=op");
      out.lacks(plan.recompute == Recompute::Selective,
                "recompute selective: torchtitan's op keeps other tensors");
      break;
  }
  out.add(job.workload.model->framework.compile != Compile::None, "--compile.enable");
  out.add(job.workload.precision == Precision::FP8, "--model.converters=float8");
  out.lacks(true, "the model: --model.name and --model.flavor of torchtitan's own list");
  return out;
}

LaunchFlags deepspeed_lines(const LaunchJob& job) {
  using Json = nlohmann::ordered_json;
  LaunchFlags out;
  const TransformerPlanSpec& plan = job.plan();
  Json config;
  config["train_batch_size"] = job.workload.global_batch;
  config["train_micro_batch_size_per_gpu"] = job.micro_batch();
  config["gradient_accumulation_steps"] =
      std::max<std::int64_t>(1, job.workload.global_batch / job.micro_batch() / std::max(1, job.data()));
  if (job.workload.clip_gradients) {
    config["gradient_clipping"] = 1.0;
  }
  config["bf16"]["enabled"] = job.workload.precision == Precision::BF16;
  config["fp16"]["enabled"] = job.workload.precision == Precision::FP16;
  Json zero;
  zero["stage"] = static_cast<int>(plan.sharding);
  zero["overlap_comm"] = plan.overlap_gradients;
  if (plan.offload != Offload::None) {
    zero["offload_optimizer"]["device"] = "cpu";
  }
  if (plan.offload == Offload::Parameters) {
    zero["offload_param"]["device"] = "cpu";
  }
  config["zero_optimization"] = zero;
  constexpr int kIndent = 2;
  std::istringstream text{config.dump(kIndent)};
  for (std::string line; std::getline(text, line);) {
    out.flags.push_back(line);
  }
  out.lacks(plan.tensor > 1, fmt::format("tensor {}: not of DeepSpeed's JSON", plan.tensor));
  out.lacks(plan.pipeline > 1, fmt::format("pipeline {}: a PipelineModule of the program", plan.pipeline));
  out.lacks(plan.context > 1, fmt::format("context {}: not of DeepSpeed's JSON", plan.context));
  out.lacks(plan.expert > 1, fmt::format("expert {}: ep_size of deepspeed.moe.layer.MoE", plan.expert));
  out.lacks(plan.recompute != Recompute::None,
            "recompute: the program calls checkpoint() or gradient_checkpointing_enable()");
  out.lacks(plan.shard_group.has_value(), "shard_group: MiCS, mics_shard_size");
  out.lacks(job.workload.precision == Precision::FP8, "precision fp8");
  return out;
}

}  // namespace lockstep::importing
