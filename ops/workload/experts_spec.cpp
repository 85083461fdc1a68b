#include <fmt/format.h>

#include "base/error.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

void ExpertsSpec::check() const {
  if (count < 1 || feed_forward < 1) {
    throw FieldError{count < 1 ? "count" : "feed_forward", "must be at least 1"};
  }
  if (per_token < 1 || per_token > count) {
    throw FieldError{"per_token",
                     fmt::format("between 1 and the {} experts there are, not {}", count, per_token)};
  }
  if (shared < 0 || dense_layers < 0) {
    throw FieldError{shared < 0 ? "shared" : "dense_layers", "is not negative"};
  }
  if (!(capacity >= 1)) {
    throw FieldError{"capacity", "at least 1: less would drop tokens of a balanced batch"};
  }
  if (capacity * static_cast<double>(per_token) > static_cast<double>(count)) {
    throw FieldError{"capacity",
                     fmt::format("at most count / per_token = {:g}, each token once, not {:g}",
                                 static_cast<double>(count) / static_cast<double>(per_token), capacity)};
  }
  if (dropless && capacity > 1) {
    throw FieldError{"dropless",
                     fmt::format("experts that keep all tokens have no room to run out of: either "
                                 "'dropless: false' or no 'capacity' ({:g})",
                                 capacity)};
  }
  if (!(imbalance >= 1) || imbalance * static_cast<double>(per_token) > static_cast<double>(count)) {
    throw FieldError{
        "imbalance",
        fmt::format("between 1 (even) and count / per_token = {:g} (every token to one expert), not {:g}",
                    static_cast<double>(count) / static_cast<double>(per_token), imbalance)};
  }
}

}  // namespace lockstep
