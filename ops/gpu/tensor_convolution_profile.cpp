#include "ops/gpu/tensor_convolution_profile.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <utility>

#include "base/parameters.hpp"

namespace lockstep {
namespace {

constexpr double kMostOfPadded = 8;  // of the FP32 peak: tensor cores have that many times as much, and more

}  // namespace

void TensorConvolutionProfile::check() const {
  for (const auto& [key, fraction] :
       {std::pair{"data_gradient", data_gradient},
        std::pair{"strided_data_gradient", strided_data_gradient.value_or(1)}}) {
    if (!(fraction > 0 && fraction <= 1)) throw FieldError(key, "a fraction above 0, at most 1");
  }
  if (!(weight_gradient >= 0 && weight_gradient <= 1)) {
    throw FieldError("weight_gradient", "a fraction of 0 to 1");
  }
  if (weight_gradient > 0 && weight_products) {
    throw FieldError("weight_gradient", "0 where there are 'weight_products'");
  }
  const double most = pads_channels ? kMostOfPadded : 1;
  for (const auto& [key, fraction] :
       {std::pair{"odd_channels", odd_channels}, std::pair{"odd_weight_gradient", odd_weight_gradient}}) {
    if (!(fraction >= 0 && fraction <= most)) {
      throw FieldError(key, fmt::format("0 to {}, of the FP32 peak", most));
    }
  }
  if (own_products_from < 0) throw FieldError("own_products_from", "a number of pixels, 0 or more");
}

}  // namespace lockstep
