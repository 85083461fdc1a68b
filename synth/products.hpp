#pragma once

#include <span>

#include "synth/model.hpp"

namespace lockstep::synth {

/// The simplest product of symbols that is @p values, one a job.
/// *Algorithm*: all products with powers from -1 to 2 whose factor is the same in all jobs; taken is the one
/// of the shortest description: powers count 1 each; a factor p/q costs 1.5 + log2(p) + 2 log2(q), where p is
/// a power of two 1 + log2(p) / 2 + 2 log2(q), one more for the sequence without the batch; a number without
/// symbols costs 1.5 + log2(number). Other factors than p/q with p up to 512 and q of 1, 2, 4, 8 or 16 are no
/// product.
[[nodiscard]] Monomial simplest_product(std::span<const double> values, std::span<const Symbols> symbols);

}  // namespace lockstep::synth
