#include "ops/workload/transformer.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "ops/workload/compiled/compiled_graph.hpp"
#include "ops/workload/transformer_step.hpp"

namespace lockstep {

Job transformer_job(const TransformerSpec& spec, const TrainingSetup& setup) {
  if (!(setup.parallelism.transformer == TransformerPlanSpec{})) {
    throw std::invalid_argument{
        "Hugging Face's models are trained data-parallel with DistributedDataParallel; tensor, pipeline, "
        "sharding "
        "and the like need a model with 'implementation: megatron'"};
  }
  if (setup.precision == Precision::FP8) {
    throw std::invalid_argument{
        "fp8 is that of Transformer Engine's layers: it needs a model with 'implementation: megatron'"};
  }
  if (setup.mixed_precision != MixedPrecision::Autocast && !is_mixed(setup.precision)) {
    throw std::invalid_argument{fmt::format(
        "mixed_precision: {} needs 'precision: fp16' or 'precision: bf16'", name_of(setup.mixed_precision))};
  }
  if (setup.framework.apex && is_mixed(setup.precision) &&
      setup.mixed_precision != MixedPrecision::MasterWeights) {
    throw std::invalid_argument{fmt::format(
        "framework.apex: true trains in 16 bits as amp's O2 does, not with mixed_precision: {}; set "
        "'mixed_precision: master_weights'",
        name_of(setup.mixed_precision))};
  }
  const auto ranks = static_cast<std::int64_t>(setup.gpus.size());
  const std::int64_t shares = ranks * setup.gradient_accumulation;
  if (setup.global_batch < shares || setup.global_batch % shares != 0) {
    throw std::invalid_argument{
        fmt::format("global_batch {} cannot be divided evenly among {} GPUs x {} micro-batches",
                    setup.global_batch, ranks, setup.gradient_accumulation)};
  }
  if (spec.attention == AttentionKernels::Flash && !is_mixed(setup.precision)) {
    throw std::invalid_argument{
        "flash attention computes in fp16 or bf16 only; use 'precision: bf16' or 'attention: "
        "unfused'"};
  }
  TransformerSpec run = spec;
  run.dropout = spec.dropout && setup.phases != Phases::Forward;
  const HostOverheads host = setup.framework.compile == Compile::None
                                 ? setup.host
                                 : with_compiled_graphs(setup.host, spec.parameters().size());
  StepWriter step{host, setup.gpus.size(), setup.framework, {setup.precision, setup.mixed_precision}};
  TransformerStep writer{step, run, setup};
  writer.write();
  Job job = std::move(step).finish(setup.gpus);
  job.memory = {writer.memory().peak()};
  return job;
}

}  // namespace lockstep
