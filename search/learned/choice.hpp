#pragma once

/// @file
/// Choosing one of several devices by scores, and learning from how it turned out.

#include <cstdint>
#include <vector>

#include "search/learned/parameter.hpp"

namespace lockstep::sharding::learned {

/// The softmax of the scores over those that may be chosen; 0 for the others.
/// @pre one may
[[nodiscard]] Vector probabilities_of(const Vector& scores, const std::vector<bool>& may);

/// The one that a number @p uniform in [0, 1) falls on.
[[nodiscard]] std::uint32_t drawn_choice(const Vector& probabilities, double uniform);

/// The choice with the largest probability, of equals the first.
[[nodiscard]] std::uint32_t likeliest_choice(const Vector& probabilities);

/// A choice and what it was worth.
struct Lesson {
  std::uint32_t chosen = 0;
  double advantage = 0;     ///< how much better it turned out than expected
  double entropy_cost = 0;  ///< how much is paid for undecidedness, which keeps the policy looking around
};

/// The gradient by the scores of  -advantage ln p[chosen] - entropy_cost H(p)  (Williams, Machine Learning 8,
/// 1992; the entropy as in Mnih et al., arXiv 1602.01783).
[[nodiscard]] Vector gradient_of_choice(const Vector& probabilities, const Lesson& lesson);

}  // namespace lockstep::sharding::learned
