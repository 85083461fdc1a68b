#include "ops/gpu/cudnn_attention_profile.hpp"

#include <initializer_list>
#include <utility>

#include "base/parameters.hpp"

namespace lockstep {

void CudnnAttentionProfile::check() const {
  using Value = std::pair<const char*, double>;
  for (const auto& [key, value] :
       {Value{"forward", forward}, Value{"backward", backward}, Value{"masked", masked}}) {
    if (!(value > 0 && value <= 1)) throw FieldError(key, "a fraction above 0, at most 1");
  }
  for (const auto& [key, value] :
       {Value{"forward_once", forward_once}, Value{"backward_once", backward_once}}) {
    if (!(value >= 0)) throw FieldError(key, "at least 0");
  }
  for (const auto& [key, value] : {Value{"forward_exponentials", forward_exponentials},
                                   Value{"backward_exponentials", backward_exponentials}}) {
    if (!(value >= 0 && value < 1)) throw FieldError(key, "a part of at least 0, below 1");
  }
  if (rows < 1) throw FieldError("rows", "at least 1");
}

}  // namespace lockstep
