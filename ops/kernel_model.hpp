#pragma once

#include <string>

#include "base/provenance.hpp"
#include "base/units.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// A model's answer for one kernel call on one GPU.
struct Prediction {
  Seconds duration;  ///< >= 0, from the kernel's start to its end on the stream
  double band = 0;   ///< relative half-width: the truth is expected within duration * (1 +- band)
  /// Measured: replayed from a trace; Fitted: a formula whose constants were fitted to measurements of this
  /// GPU; Derived: the same with constants from a data sheet or another generation
  Provenance provenance = Provenance::Derived;
  bool in_range = true;    ///< false when asked outside the range the model was checked on
  bool fell_back = false;  ///< a network was asked outside its training, and the formula answered
};

/// How long one kind of kernel takes. Stateless and deterministic.
class KernelModel {
 public:
  virtual ~KernelModel() = default;

  /// Name and source, e.g. "gemm: wave-quantised roofline".
  [[nodiscard]] virtual std::string name() const = 0;

  [[nodiscard]] virtual Prediction predict(const KernelCall& call, const GpuSpec& gpu) const = 0;
};

/// The model that answers for @p call: one per alternative of KernelWork.
[[nodiscard]] const KernelModel& model_for(const KernelCall& call);

}  // namespace lockstep
