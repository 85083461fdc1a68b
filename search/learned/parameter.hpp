#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "search/learned/draw_sequence.hpp"

namespace lockstep::sharding::learned {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// Numbers that are learnt, the gradient of a loss by them, and Adam's moments of it.
struct Parameter {
  Matrix value, gradient, first_moment, second_moment;

  /// Drawn evenly from -@p reach to @p reach.
  Parameter(Eigen::Index rows, Eigen::Index columns, double reach, DrawSequence& draws)
      : value{Matrix::NullaryExpr(rows, columns, [&] { return reach * (2 * draws.next() - 1); })},
        gradient{Matrix::Zero(rows, columns)},
        first_moment{gradient},
        second_moment{gradient} {}
};

struct NamedParameter {
  std::string name;
  Parameter* parameter;
};

}  // namespace lockstep::sharding::learned
