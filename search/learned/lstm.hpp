#pragma once

#include <string>
#include <vector>

#include "search/learned/parameter.hpp"

namespace lockstep::sharding::learned {

/// Values that went through an LSTM layer, a column for each step.
struct LstmPass {
  Matrix inputs, gates, cells, outputs;  ///< gates: input, forget, candidate, output, one below the other
  Eigen::Index steps = 0;                ///< columns in use

  LstmPass(Eigen::Index inputs_wide, Eigen::Index cells_wide, Eigen::Index most_steps)
      : inputs(inputs_wide, most_steps),
        gates(4 * cells_wide, most_steps),
        cells(cells_wide, most_steps),
        outputs(cells_wide, most_steps) {}
};

/// A layer of long short-term memory (Hochreiter and Schmidhuber, Neural Computation 9, 1997; with the forget
/// gate of Gers et al., 2000), from cells and outputs of 0:
///
///   i, f, o = sigmoid(W x + U h + b), g = tanh(W x + U h + b);  c' = f c + i g;  h' = o tanh(c')
class LstmLayer {
 public:
  /// Starts between -1 / sqrt(cells) and 1 / sqrt(cells), as PyTorch's LSTM.
  LstmLayer(Eigen::Index inputs, Eigen::Index cells, DrawSequence& draws);

  [[nodiscard]] LstmPass pass(Eigen::Index most_steps) const {
    return {inputs_.value.cols(), recurrent_.value.cols(), most_steps};
  }
  /// The next step. @return the output
  [[nodiscard]] Vector step(const Vector& input, LstmPass& pass) const;
  /// Adds the gradients of a loss by the parameters, from those by the outputs of all steps.
  /// @return those by the inputs
  Matrix backward(const Matrix& gradients, const LstmPass& pass);

  void list(const std::string& name, std::vector<NamedParameter>& parameters);

 private:
  Parameter inputs_, recurrent_, biases_;
};

}  // namespace lockstep::sharding::learned
