#include "ops/workload/encoder_decoder.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "ops/workload/encoder_decoder_step.hpp"

namespace lockstep {
namespace {

/// Refuses what the code does in 16 bits and is not written here.
void check_types(const EncoderDecoderSpec& spec, const TrainingSetup& setup) {
  if (setup.mixed_precision == MixedPrecision::Autocast) {
    return;
  }
  if (spec.experts) {
    throw std::invalid_argument{
        fmt::format("mixed_precision: {} is not known of experts, whose router turns its weights to FP32; "
                    "take 'autocast'",
                    name_of(setup.mixed_precision))};
  }
  if (setup.precision == Precision::FP16) {
    throw std::invalid_argument{
        "T5 looks for infinities in a residual stream of FP16 and clamps it, which is not known here; take "
        "'precision: bf16' or 'mixed_precision: autocast'"};
  }
}

}  // namespace

Job encoder_decoder_job(const EncoderDecoderSpec& spec, const TrainingSetup& setup) {
  check_hugging_face(setup);
  check_types(spec, setup);
  EncoderDecoderSpec run = spec;
  run.dropout = spec.dropout && setup.phases != Phases::Forward;
  if (run.experts && setup.phases == Phases::Forward) {
    run.experts->jitter = false;
  }
  StepWriter step{setup.host, setup.gpus.size(), setup.framework, {setup.precision, setup.mixed_precision}};
  EncoderDecoderStep writer{step, run, setup};
  writer.write();
  Job job = std::move(step).finish(setup.gpus);
  job.memory = {writer.memory().peak()};
  job.memory_changes = {writer.memory().changes()};
  return job;
}

}  // namespace lockstep
