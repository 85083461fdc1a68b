#include "topology/convolution_profile.hpp"

#include <array>
#include <utility>

#include "base/parameters.hpp"

namespace lockstep {

void ConvolutionProfile::check() const {
  const std::array fractions{std::pair{"one_by_one", one_by_one},
                             std::pair{"data_gradient", data_gradient},
                             std::pair{"weight_gradient", weight_gradient},
                             std::pair{"winograd", winograd},
                             std::pair{"products", products},
                             std::pair{"transforms", transforms}};
  for (const auto& [key, fraction] : fractions) {
    if (!(fraction > 0 && fraction <= 1)) throw FieldError(key, "a fraction above 0, at most 1");
  }
}

}  // namespace lockstep
