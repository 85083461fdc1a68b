#include "ops/gpu/convolution_profile.hpp"

#include <initializer_list>
#include <utility>

#include "base/parameters.hpp"

namespace lockstep {

namespace {

void check_fractions(std::initializer_list<std::pair<const char*, double>> fractions) {
  for (const auto& [key, fraction] : fractions) {
    if (!(fraction > 0 && fraction <= 1)) throw FieldError(key, "a fraction above 0, at most 1");
  }
}

}  // namespace

void ConvolutionRates::check() const {
  check_fractions(
      {{"one_by_one", one_by_one}, {"data_gradient", data_gradient}, {"weight_gradient", weight_gradient}});
}

void ConvolutionProfile::check() const {
  check_fractions({{"winograd", winograd}, {"products", products}, {"transforms", transforms}});
}

}  // namespace lockstep
