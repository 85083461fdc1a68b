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

/// The optimizer that updates parameters, and its options of SGD: each is an operation more on every one
/// (torch/optim/sgd.py).
struct OptimizerSpec {
  Optimizer kind = Optimizer::AdamW;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;

  /// @throws FieldError for options of SGD with another optimizer, or impossible ones
  void check() const {
    const char* field = momentum != 0 ? "momentum" : (nesterov ? "nesterov" : "weight_decay");
    if (kind != Optimizer::Sgd && (momentum != 0 || nesterov || weight_decay != 0)) {
      throw FieldError{field, "momentum, nesterov and weight_decay are options of 'optimizer: sgd'"};
    }
    if (!(momentum >= 0 && momentum < 1)) {
      throw FieldError{"momentum", "at least 0 and less than 1"};
    }
    if (!(weight_decay >= 0)) {
      throw FieldError{"weight_decay", "not negative"};
    }
    if (nesterov && momentum == 0) {
      throw FieldError{"nesterov", "Nesterov's momentum needs a 'momentum'"};
    }
  }

  /// Tensors of the parameters' size that are kept from step to step: moments, sums of squares.
  [[nodiscard]] int states() const {
    switch (kind) {
      case Optimizer::Sgd:
        return momentum != 0 ? 1 : 0;
      case Optimizer::Adagrad:
      case Optimizer::RowWiseAdagrad:
        return 1;
      case Optimizer::AdamW:
      case Optimizer::AdamWHf:
      case Optimizer::Lamb:
      case Optimizer::BertAdam:
        return 2;
    }
    return 0;
  }
};

}  // namespace lockstep
