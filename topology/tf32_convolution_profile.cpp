#include "topology/tf32_convolution_profile.hpp"

#include <initializer_list>
#include <utility>

#include "base/parameters.hpp"

namespace lockstep {

void Tf32ConvolutionProfile::check() const {
  for (const auto& [key, fraction] :
       {std::pair{"data_gradient", data_gradient}, std::pair{"weight_gradient", weight_gradient},
        std::pair{"odd_channels", odd_channels}}) {
    if (!(fraction > 0 && fraction <= 1)) throw FieldError(key, "a fraction above 0, at most 1");
  }
  if (odd_weight_gradient < 0 || odd_weight_gradient > 1) {
    throw FieldError("odd_weight_gradient", "a fraction of 0 to 1");
  }
  if (own_products_from < 0) throw FieldError("own_products_from", "a number of pixels, 0 or more");
}

}  // namespace lockstep
