#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <vector>

#include "search/sharding/cost_model.hpp"

namespace lockstep::sharding {

/// Layers with ReLU between them; inputs are scaled by their mean and deviation in training.
class ScaledNetwork {
 public:
  struct Layer {
    Eigen::MatrixXf weights;  ///< outputs x inputs
    Eigen::VectorXf biases;
  };

  ScaledNetwork() = default;
  ScaledNetwork(Eigen::VectorXd mean, Eigen::VectorXd deviation, std::vector<Layer> layers);

  [[nodiscard]] Eigen::Index inputs() const { return mean_.size(); }
  [[nodiscard]] Eigen::Index outputs() const { return layers_.back().biases.size(); }
  [[nodiscard]] std::size_t layers() const { return layers_.size(); }
  [[nodiscard]] Eigen::Index inputs_of(std::size_t layer) const { return layers_[layer].weights.cols(); }

  [[nodiscard]] Eigen::VectorXf scaled(const Eigen::VectorXd& inputs) const;
  /// Layers @p first to the one before @p last, a ReLU after each but the network's last.
  [[nodiscard]] Eigen::VectorXf through(Eigen::VectorXf state, std::size_t first, std::size_t last) const;
  [[nodiscard]] Eigen::VectorXf operator()(const Eigen::VectorXd& inputs) const;

 private:
  Eigen::VectorXd mean_, deviation_;
  std::vector<Layer> layers_;
};

/// The cost networks of NeuroShard (Zha et al., arXiv 2305.01868), which their authors trained on measured
/// times of fused lookups and of all-to-alls:
///
///   compute          a table's 20 features -> 128 -> 32, summed over the device's tables -> 64 -> 1, ms both
///                    ways
///   communication    backward: widths of the n devices -> ms of each; forward: also when each device starts,
///                    which is after its compute and backward exchange, less the first
///   total            max over devices of compute + backward + forward
///
/// Features: bin_0, bin_1, bin_10 to bin_16, bin_2 to bin_9, dimension, pooling factor, rows.
/// *Valid for* the batch (65,536), precision (fp32) and number of devices that the networks were trained at;
/// 1 to 15 tables a device, dimension 4 to 128. A negative time, which they give far outside, counts as 0.
/// *Source*: daochenzha/neuroshard, simulator.py and *_cost_model.py.
class NetworkCosts final : public CostModel {
 public:
  /// The three networks as numbers: `inputs layers`, means, deviations, then for each layer `outputs inputs`,
  /// the rows of its matrix and its biases; compute, forward, backward communication.
  /// @throws InputError for a file that cannot be read or whose networks do not fit together
  static NetworkCosts from_file(const std::filesystem::path& path);

  [[nodiscard]] std::size_t devices() const { return static_cast<std::size_t>(backward_.inputs()); }

  [[nodiscard]] Load load_of(const Table& table, std::int64_t columns, std::uint32_t kind) const override;
  [[nodiscard]] Seconds compute(const Load& load) const override;
  /// @pre as many devices as the networks were trained for
  [[nodiscard]] Estimate estimate(std::span<const Seconds> compute, std::span<const double> widths,
                                  std::span<const double> indices) const override;

 private:
  ScaledNetwork compute_, forward_, backward_;
};

}  // namespace lockstep::sharding
