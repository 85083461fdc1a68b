#pragma once

#include <vector>

#include "search/learned/parameter.hpp"

namespace lockstep::sharding::learned {

/// Steps against the gradients: Kingma and Ba, arXiv 1412.6980, with its decays 0.9 and 0.999. The parameters
/// must outlive it.
class Adam {
 public:
  explicit Adam(std::vector<NamedParameter> parameters) : parameters_{std::move(parameters)} {}

  /// Makes the gradients no longer than @p most together (Pascanu et al., arXiv 1211.5063).
  void clip(double most);
  /// One step, after which the gradients are 0.
  void step(double learning_rate);

 private:
  std::vector<NamedParameter> parameters_;
  int steps_ = 0;
};

/// Rounds all to single precision, which a file of weights holds exactly.
void round_to_single(const std::vector<NamedParameter>& parameters);

}  // namespace lockstep::sharding::learned
