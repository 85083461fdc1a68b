#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Work whose duration is known: replayed traces and synthetic programs.
///
///   t = duration
///
/// *Source*: the trace that gave the duration.
class TimedModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
