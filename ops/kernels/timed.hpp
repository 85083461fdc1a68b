#pragma once

#include <string>
#include <string_view>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Stands at the end of a kernel's name whose duration was not recorded, but derived from its operations and
/// bytes by a GPU's peaks.
inline constexpr std::string_view kDerivedMark = " (by num_ops)";
/// Ends the names of kernels whose duration somebody else's formula gave, unmeasured.
inline constexpr std::string_view kGuessedMark = " (guessed)";

/// Work whose duration is known: replayed traces and synthetic programs.
///
///   t = duration
///
/// *Source*: the trace that gave the duration; of names with kDerivedMark or kGuessedMark a guess.
class TimedModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
