#include "ops/workload/xlnet.hpp"

#include <utility>

#include "ops/workload/xlnet_step.hpp"

namespace lockstep {

Job xlnet_job(const XlnetSpec& spec, const TrainingSetup& setup) {
  check_hugging_face(setup);
  XlnetSpec run = spec;
  run.dropout = spec.dropout && setup.phases != Phases::Forward;
  StepWriter step{setup.host, setup.gpus.size(), setup.framework, {setup.precision, setup.mixed_precision}};
  XlnetStep writer{step, run, setup};
  writer.write();
  Job job = std::move(step).finish(setup.gpus);
  job.memory = {writer.memory().peak()};
  job.memory_changes = {writer.memory().changes()};
  return job;
}

}  // namespace lockstep
