#include "topology/kernel_efficiency.hpp"

#include <initializer_list>
#include <utility>

#include "base/parameters.hpp"

namespace lockstep {

void KernelEfficiency::check() const {
  using Fraction = std::pair<const char*, double>;
  for (const auto& [key, value] :
       {Fraction{"memory", memory}, Fraction{"writes", writes}, Fraction{"softmax", softmax},
        Fraction{"layer_norm", layer_norm}, Fraction{"batch_norm", batch_norm},
        Fraction{"concatenation", concatenation}, Fraction{"transposition", transposition},
        Fraction{"random_rows", random_rows}, Fraction{"scattered_update", scattered_update},
        Fraction{"attention", attention}}) {
    if (!(value > 0 && value <= 1)) throw FieldError(key, "a fraction above 0, at most 1");
  }
}

}  // namespace lockstep
