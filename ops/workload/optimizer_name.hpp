#pragma once

#include <array>

#include "base/parameters.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

constexpr auto names_of(Optimizer) {
  return std::to_array<EnumName<Optimizer>>({{Optimizer::Sgd, "sgd"},
                                             {Optimizer::Adagrad, "adagrad"},
                                             {Optimizer::AdamW, "adamw"},
                                             {Optimizer::AdamWHf, "adamw_hf"},
                                             {Optimizer::Lamb, "lamb"},
                                             {Optimizer::BertAdam, "bert_adam"}});
}

/// Tensors of the parameters' size that an optimizer keeps from step to step: moments, sums of squares.
[[nodiscard]] constexpr int states_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return 0;
    case Optimizer::Adagrad:
      return 1;
    case Optimizer::AdamW:
    case Optimizer::AdamWHf:
    case Optimizer::Lamb:
    case Optimizer::BertAdam:
      return 2;
  }
  return 0;
}

}  // namespace lockstep
