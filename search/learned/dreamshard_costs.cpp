#include "search/learned/dreamshard_costs.hpp"

#include <limits>

namespace lockstep::sharding::learned {
namespace {

using Places = Eigen::Matrix<Eigen::Index, Eigen::Dynamic, Eigen::Dynamic>;

/// Number by number the largest of each plan's devices, and which device has it.
struct Largest {
  Matrix values;
  Places device;

  Largest(const Matrix& sums, const Grouping& plan, Eigen::Index plans)
      : values{Matrix::Constant(sums.rows(), plans, -std::numeric_limits<double>::infinity())},
        device{Places::Zero(sums.rows(), plans)} {
    for (Eigen::Index column = 0; column < sums.cols(); ++column) {
      const Eigen::Index of = plan[static_cast<std::size_t>(column)];
      for (Eigen::Index row = 0; row < sums.rows(); ++row) {
        if (sums(row, column) > values(row, of)) {
          values(row, of) = sums(row, column);
          device(row, of) = column;
        }
      }
    }
  }

  void add_gradients(const Matrix& by_values, Matrix& by_sums) const {
    for (Eigen::Index plan = 0; plan < values.cols(); ++plan) {
      for (Eigen::Index row = 0; row < values.rows(); ++row) {
        by_sums(row, device(row, plan)) += by_values(row, plan);
      }
    }
  }
};

/// Mean squared error of what a network says. @return gradient by its inputs
Matrix learn_one(Dense& network, const Matrix& inputs, const Matrix& expected, double& error) {
  Dense::Passed through;
  const Matrix errors = network.forward(inputs, through) - expected;
  error += errors.squaredNorm() / static_cast<double>(errors.size());
  return network.backward(2.0 / static_cast<double>(errors.size()) * errors, through);
}

}  // namespace

Matrix DreamShardCosts::parts(const Matrix& sums) const {
  Matrix parts(kParts, sums.cols());
  parts << compute_(sums), exchange_(sums);
  return parts;
}

double DreamShardCosts::total(const Matrix& sums) const {
  return plan_(sums.rowwise().maxCoeff())(0, 0);
}

double DreamShardCosts::learn(const MeasuredPlans& measured) {
  Dense::Passed through_tables;
  const Matrix vectors = tables_.forward(measured.features, through_tables);
  const Matrix sums = sums_of_groups(vectors, measured.device, measured.parts.cols());
  const Largest largest{sums, measured.plan, measured.totals.size()};
  double error = 0;
  Matrix by_sums = learn_one(compute_, sums, measured.parts.row(0), error);
  by_sums += learn_one(exchange_, sums, measured.parts.row(1), error);
  largest.add_gradients(learn_one(plan_, largest.values, measured.totals.transpose(), error), by_sums);
  tables_.backward(spread_to_columns(by_sums, measured.device), through_tables);
  return error;
}

void DreamShardCosts::list(std::vector<NamedParameter>& parameters) {
  tables_.list("costs.tables", parameters);
  compute_.list("costs.compute", parameters);
  exchange_.list("costs.exchange", parameters);
  plan_.list("costs.plan", parameters);
}

}  // namespace lockstep::sharding::learned
