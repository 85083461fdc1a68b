#include "ops/gpu/core_convolution_profile.hpp"

#include <utility>

#include "base/parameters.hpp"

namespace lockstep {

void CoreConvolutionProfile::check() const {
  for (const auto& [key, fraction] :
       {std::pair{"strided", strided}, std::pair{"summed_pixels", summed_pixels}, std::pair{"summed", summed},
        std::pair{"spectral", spectral}, std::pair{"transforms", transforms},
        std::pair{"tiled_transforms", tiled_transforms}}) {
    if (!(fraction > 0 && fraction <= 1)) throw FieldError(key, "a fraction above 0, at most 1");
  }
}

}  // namespace lockstep
