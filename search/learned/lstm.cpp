#include "search/learned/lstm.hpp"

#include <cmath>

namespace lockstep::sharding::learned {
namespace {

template <class Array>
auto slope_of_sigmoid(const Array& value) {
  return value * (1 - value);
}

/// The gradient of all four gates by what went into them. @p of_cells holds the next step's gradient of the
/// cells. The function adds this step's, and leaves in it the gradient of the cells before.
Vector gradient_of_gates(const LstmPass& pass, Eigen::Index step, const Vector& of_outputs,
                         Vector& of_cells) {
  const Eigen::Index width = pass.cells.rows();
  const auto gate = [&](Eigen::Index which) {
    return pass.gates.col(step).segment(which * width, width).array();
  };
  const Eigen::ArrayXd bent = pass.cells.col(step).array().tanh();
  of_cells.array() += of_outputs.array() * gate(3) * (1 - bent.square());
  const Eigen::ArrayXd before =
      step > 0 ? Eigen::ArrayXd{pass.cells.col(step - 1).array()} : Eigen::ArrayXd::Zero(width);
  Vector gradient(4 * width);
  gradient.segment(0, width) = of_cells.array() * gate(2) * slope_of_sigmoid(gate(0));
  gradient.segment(width, width) = of_cells.array() * before * slope_of_sigmoid(gate(1));
  gradient.segment(2 * width, width) = of_cells.array() * gate(0) * (1 - gate(2).square());
  gradient.segment(3 * width, width) = of_outputs.array() * bent * slope_of_sigmoid(gate(3));
  of_cells.array() *= gate(1);
  return gradient;
}

}  // namespace

LstmLayer::LstmLayer(Eigen::Index inputs, Eigen::Index cells, DrawSequence& draws)
    : inputs_{4 * cells, inputs, 1 / std::sqrt(static_cast<double>(cells)), draws},
      recurrent_{4 * cells, cells, 1 / std::sqrt(static_cast<double>(cells)), draws},
      biases_{4 * cells, 1, 1 / std::sqrt(static_cast<double>(cells)), draws} {}

Vector LstmLayer::step(const Vector& input, LstmPass& pass) const {
  const Eigen::Index width = pass.cells.rows();
  const Eigen::Index now = pass.steps++;
  Vector gates = biases_.value;
  gates.noalias() += inputs_.value * input;
  if (now > 0) {
    gates.noalias() += recurrent_.value * pass.outputs.col(now - 1);
  }
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  gates.head(2 * width) = gates.head(2 * width).unaryExpr(sigmoid);
  gates.segment(2 * width, width) = gates.segment(2 * width, width).array().tanh();
  gates.tail(width) = gates.tail(width).unaryExpr(sigmoid);
  pass.inputs.col(now) = input;
  pass.gates.col(now) = gates;
  pass.cells.col(now) = gates.head(width).cwiseProduct(gates.segment(2 * width, width));
  if (now > 0) {
    pass.cells.col(now) += gates.segment(width, width).cwiseProduct(pass.cells.col(now - 1));
  }
  pass.outputs.col(now) = gates.tail(width).array() * pass.cells.col(now).array().tanh();
  return pass.outputs.col(now);
}

Matrix LstmLayer::backward(const Matrix& gradients, const LstmPass& pass) {
  const Eigen::Index width = pass.cells.rows();
  Matrix of_gates(4 * width, pass.steps);
  Vector later = Vector::Zero(width);
  Vector of_cells = Vector::Zero(width);
  for (Eigen::Index step = pass.steps; step-- > 0;) {
    const Vector of_outputs = gradients.col(step) + later;
    of_gates.col(step) = gradient_of_gates(pass, step, of_outputs, of_cells);
    later.noalias() = recurrent_.value.transpose() * of_gates.col(step);
  }
  inputs_.gradient.noalias() += of_gates * pass.inputs.leftCols(pass.steps).transpose();
  if (pass.steps > 1) {
    recurrent_.gradient.noalias() +=
        of_gates.rightCols(pass.steps - 1) * pass.outputs.leftCols(pass.steps - 1).transpose();
  }
  biases_.gradient += of_gates.rowwise().sum();
  return inputs_.value.transpose() * of_gates;
}

void LstmLayer::list(const std::string& name, std::vector<NamedParameter>& parameters) {
  parameters.push_back({name + ".inputs", &inputs_});
  parameters.push_back({name + ".recurrent", &recurrent_});
  parameters.push_back({name + ".biases", &biases_});
}

}  // namespace lockstep::sharding::learned
