#pragma once

#include <cstdint>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Who attends to whom, of samples of one length.
struct AttentionMaskShape {
  std::int64_t batch = 0, sequence = 0;
  bool causal = true;
  bool padding = false;    ///< which tokens are padding is given, too
  bool of_numbers = true;  ///< to be added to scores; else of booleans, as sdpa_mask() makes it
};

/// Checks for packed samples: given positions without padding, transformers 5 looks whether positions begin
/// again. The host waits for this, once a pass of the model.
/// *Source*: transformers 5.17, masking_utils.py, find_packed_sequence_indices(); kernels as PyTorch 2.11's
/// profiler lists them (calibration/measurements/h100/variant_kernels.csv: hf_gpt2, hf_llama).
void packed_samples_check(StepWriter& step, const AttentionMaskShape& shape);

/// The mask that transformers 5 makes once for all layers whose attention is in operators: a number in the
/// model's type for each pair of tokens and sample. Fused causal attention needs none, but where there is
/// padding, and then one of booleans.
/// *Source*: likewise, eager_mask() and sdpa_mask(); hf_opt_1b3, hf_gpt2.
void attention_mask_forward(StepWriter& step, const AttentionMaskShape& shape);

}  // namespace lockstep
