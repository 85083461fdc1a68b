#include "search/learned/choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::sharding::learned {

Vector probabilities_of(const Vector& scores, const std::vector<bool>& may) {
  double most = -std::numeric_limits<double>::infinity();
  for (Eigen::Index i = 0; i < scores.size(); ++i) {
    most = may[static_cast<std::size_t>(i)] ? std::max(most, scores[i]) : most;
  }
  Vector probabilities = Vector::Zero(scores.size());
  for (Eigen::Index i = 0; i < scores.size(); ++i) {
    if (may[static_cast<std::size_t>(i)]) {
      probabilities[i] = std::exp(scores[i] - most);
    }
  }
  return probabilities / probabilities.sum();
}

std::uint32_t drawn_choice(const Vector& probabilities, double uniform) {
  Eigen::Index last = 0;
  for (Eigen::Index i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] <= 0) {
      continue;
    }
    last = i;
    uniform -= probabilities[i];
    if (uniform < 0) {
      break;
    }
  }
  return static_cast<std::uint32_t>(last);  // the last one that may be: the sum rounds to below 1
}

std::uint32_t likeliest_choice(const Vector& probabilities) {
  Eigen::Index best = 0;
  probabilities.maxCoeff(&best);
  return static_cast<std::uint32_t>(best);
}

Vector gradient_of_choice(const Vector& probabilities, const Lesson& lesson) {
  Vector surprise = Vector::Zero(probabilities.size());  // p ln p
  for (Eigen::Index i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] > 0) {
      surprise[i] = probabilities[i] * std::log(probabilities[i]);
    }
  }
  const double entropy = -surprise.sum();
  Vector gradient =
      lesson.advantage * probabilities + lesson.entropy_cost * (surprise + entropy * probabilities);
  gradient[lesson.chosen] -= lesson.advantage;
  return gradient;
}

}  // namespace lockstep::sharding::learned
