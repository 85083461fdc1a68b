#include "ops/workload/parallel/framework_rules.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace lockstep {

bool is_float8_of_torchao(const TransformerSpec& model, Precision precision) {
  return model.implementation == Implementation::TorchTitan && precision == Precision::FP8;
}

namespace {

Zero3Implementation default_implementation(const TransformerPlanSpec& plan, Implementation implementation) {
  switch (implementation) {
    case Implementation::TorchTitan:
    case Implementation::PyTorch:
      return plan.offload == Offload::None ? Zero3Implementation::Fsdp2 : Zero3Implementation::None;
    case Implementation::HuggingFace:
    case Implementation::HuggingFaceLlama:
      return Zero3Implementation::DeepSpeed;
    case Implementation::Megatron:
    case Implementation::Nanotron:
      return Zero3Implementation::None;
  }
  throw std::logic_error{"default_implementation: unknown Implementation"};
}

}  // namespace

TransformerPlanSpec with_zero3_implementation(TransformerPlanSpec plan, const TransformerSpec& model) {
  if (plan.sharding == Sharding::Zero3 && !plan.zero3_implementation) {
    plan.zero3_implementation = default_implementation(plan, model.implementation);
  }
  return plan;
}

namespace {

void check_fine_tuning(const TransformerPlanSpec& plan, const TransformerSpec& model) {
  if (model.packed > 1 && plan.context > 1) {
    throw std::invalid_argument{
        "'packed' samples are not divided among context-parallel ranks here: leave 'context' or 'packed' "
        "out"};
  }
  if (!model.lora) {
    return;
  }
  if (plan.offload != Offload::None || plan.tensor_layers == TensorLayers::DTensor) {
    throw std::invalid_argument{
        fmt::format("the adapters of 'lora' are written without '{}': leave one of them out",
                    plan.offload != Offload::None ? "offload" : "tensor_layers: dtensor")};
  }
  if (plan.schedule == PipelineSchedule::ZeroBubble) {
    throw std::invalid_argument{
        "'schedule: zero_bubble' puts weights' gradients off, which frozen weights have not: take another "
        "schedule, or leave 'lora' out"};
  }
  const bool shares_rank =
      model.lora->adapts(LoraModule::LinearQkv) || model.lora->adapts(LoraModule::LinearFc1);
  if (shares_rank && model.lora->rank % plan.tensor != 0) {
    throw std::invalid_argument{
        fmt::format("{} tensor-parallel ranks do not divide the rank of 'lora', {}, whose columns they share",
                    plan.tensor, model.lora->rank)};
  }
}

/// Refuses DeepSpeed's keys for models other than Megatron-LM's, which it runs.
void check_deepspeed(const TransformerPlanSpec& plan, const TransformerSpec& model) {
  const char* const key = plan.recompute_synchronize   ? "recompute_synchronize: true"
                          : plan.partition_activations ? "partition_activations: true"
                          : !plan.reduce_scatter       ? "reduce_scatter: false"
                                                       : nullptr;
  if (key != nullptr && model.implementation != Implementation::Megatron) {
    throw std::invalid_argument{
        fmt::format("'{}' is what DeepSpeed does with Megatron-LM's models: say the model's 'implementation: "
                    "megatron', or leave it out",
                    key)};
  }
}

/// Checks `mixed_precision: pure`, whose optimizers have no FP32 masters: torch.optim's.
void check_pure(const TransformerPlanSpec& plan, TensorTypes types) {
  if (types.mixed != MixedPrecision::Pure) {
    return;
  }
  if (types.precision != Precision::BF16) {
    throw std::invalid_argument{
        "'mixed_precision: pure' of this implementation is BF16 throughout: say 'precision: bf16', or leave "
        "'mixed_precision' out"};
  }
  if (plan.sharding != Sharding::None && !plan.is_fsdp()) {
    throw std::invalid_argument{fmt::format(
        "'sharding: {}' without PyTorch's 'zero3_implementation' is DeepSpeed's or Megatron's, whose "
        "optimizer has FP32 "
        "masters: with 'mixed_precision: pure' say 'sharding: zero3' with 'zero3_implementation: fsdp2' "
        "or 'fsdp', or "
        "leave 'sharding' out (DistributedDataParallel)",
        name_of(plan.sharding))};
  }
}

}  // namespace

void check_framework(const TransformerPlanSpec& plan, const TransformerSpec& model,
                     const FrameworkSpec& framework, TensorTypes types) {
  const Precision precision = types.precision;
  const bool is_compiled = framework.compile != Compile::None;
  if (is_compiled && plan.schedule == PipelineSchedule::ZeroBubble) {
    throw std::invalid_argument{
        "'schedule: zero_bubble' computes weights' gradients apart, which a compiled block's backward does "
        "not: "
        "take another schedule, or leave 'framework: { compile: ... }' out"};
  }
  const bool is_torchtitan = model.implementation == Implementation::TorchTitan;
  if (is_torchtitan && plan.tensor_overlap && !is_compiled) {
    throw std::invalid_argument{
        "'tensor_overlap' with 'implementation: torchtitan' is asynchronous tensor parallelism, which "
        "torch.compile makes: say 'model: { framework: { compile: inductor } }', or leave 'tensor_overlap' "
        "out"};
  }
  if (is_torchtitan && plan.tensor > 1 && is_compiled &&
      framework.compiled_loss == CompiledLoss::Recomputed) {
    throw std::invalid_argument{
        "the loss of logits that tensor-parallel ranks share is written as eager PyTorch runs it "
        "(loss_parallel): say 'model: { framework: { compiled_loss: eager } }'"};
  }
  if (model.implementation == Implementation::HuggingFaceLlama && precision == Precision::FP8) {
    throw std::invalid_argument{
        "'implementation: hugging_face_llama' has no products in FP8: say 'precision: bf16' or 'fp16', or "
        "the "
        "model's 'implementation: torchtitan' or 'megatron'"};
  }
  check_deepspeed(plan, model);
  check_fine_tuning(plan, model);
  check_pure(with_zero3_implementation(plan, model), types);
  const bool is_megatrons = model.implementation == Implementation::Megatron && precision == Precision::FP8;
  if (framework.fp8_scaling == Fp8Scaling::Current && !is_megatrons) {
    throw std::invalid_argument{
        "'framework: { fp8_scaling: current }' is a recipe of Transformer Engine's FP8: it needs "
        "'implementation: megatron' and 'precision: fp8'"};
  }
  if (framework.fp8_parameters && !is_megatrons) {
    throw std::invalid_argument{
        "'framework: { fp8_parameters: true }' is Transformer Engine's: it needs 'implementation: megatron' "
        "and 'precision: fp8'"};
  }
  if (framework.fp8_parameters && plan.sharding != Sharding::None && plan.sharding != Sharding::Zero1) {
    throw std::invalid_argument{
        "'framework: { fp8_parameters: true }' is known for whole parameters, without sharding or with "
        "zero1"};
  }
  const bool is_float8 = is_float8_of_torchao(model, precision);
  if (is_float8 && !is_compiled) {
    throw std::invalid_argument{
        "'precision: fp8' with 'implementation: torchtitan' is torchao's, whose casts torch.compile fuses: "
        "say "
        "'model: { framework: { compile: inductor } }', or 'precision: bf16'"};
  }
  if (is_float8 && plan.sharding != Sharding::Zero3) {
    throw std::invalid_argument{
        "torchao's FP8 weights are cast by FSDP before they are gathered: say 'sharding: zero3'"};
  }
}

}  // namespace lockstep
