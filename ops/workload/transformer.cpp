#include "ops/workload/transformer.hpp"

#include <stdexcept>

#include "ops/workload/compiled/compiled_graph.hpp"
#include "ops/workload/parallel/framework_rules.hpp"
#include "ops/workload/transformer_step.hpp"

namespace lockstep {

Job transformer_job(const TransformerSpec& spec, const TrainingSetup& given) {
  TrainingSetup setup = given;
  setup.parallelism.transformer = with_zero3_implementation(setup.parallelism.transformer, spec);
  check_hugging_face(setup, true);
  const bool any_type =
      spec.attention == AttentionKernels::Unfused || spec.attention == AttentionKernels::Efficient;
  if (!any_type && !is_mixed(setup.precision)) {
    throw std::invalid_argument{
        "flash attention and cuDNN's compute in fp16 or bf16 only; use 'precision: bf16', 'attention: "
        "efficient' or 'unfused'"};
  }
  if (!setup.frozen.empty() && setup.parallelism.transformer.sharding != Sharding::None) {
    throw std::invalid_argument{
        "frozen parts of Hugging Face's models are written without 'sharding': leave 'freeze' or 'sharding' "
        "out"};
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
  job.memory_changes = {writer.memory().changes()};
  return job;
}

}  // namespace lockstep
