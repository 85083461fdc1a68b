#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/gpu/gpu_spec.hpp"
#include "ops/job.hpp"
#include "synth/model.hpp"

namespace lockstep::synth {

/// Turns of knobs.
struct SampleOptions {
  std::uint64_t seed = 1;
  Symbols symbols;                    ///< in place of those of the job drawn
  std::optional<DataType> precision;  ///< of products that are computed in FP16, BF16 or FP8
  bool exact = false;                 ///< no noise: means
  std::uint32_t variants = 8;         ///< different draws for ranks that do the same, at most
};

struct Sample {
  Job job;  ///< kernels have shapes where nothing else times them, else Timed; without GPUs of ranks
  std::size_t source = 0;  ///< index of the job in the model
  Symbols symbols;
  std::uint64_t repairs = 0;  ///< waits left out, for what is no longer there
};

/// Draws a job of the model, its symbols replaced by those of @p options, and its times. Every size is
/// evaluated once for all ranks, so that members of a group call the same.
/// @param gpu that shapes are timed for
/// @throws std::invalid_argument: a symbol that no job of the model has, a number of ranks that is no
/// multiple
///   of the recorded job's, a constraint that the sample does not keep (check(), messages that do not meet,
///   members of a group that call otherwise)
[[nodiscard]] Sample sample(const Model& model, const GpuSpec& gpu, const SampleOptions& options);

}  // namespace lockstep::synth
