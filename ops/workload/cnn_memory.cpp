#include "ops/workload/cnn_memory.hpp"

#include <numeric>

#include "ops/workload/precision.hpp"

namespace lockstep {
namespace {

constexpr double kFloat = 4;
constexpr double kIndex = 8;
constexpr double kGradientsAtATime = 3;

/// Bytes that a layer keeps for backward: of a convolution what its normalisation reads, and the result
/// behind the activation function, which works in place. What a linear one gives to a sum is kept by nobody
/// (torchvision's `out += identity`, in place). @param summed the block adds its branches up
/// @param element bytes of an activation
double kept(const ShapedLayer& layer, bool summed, double element) {
  const auto elements = static_cast<double>(layer.output.elements());
  switch (layer.layer.kind) {
    case CnnLayer::Kind::Convolution:
      return ((layer.layer.filters.size() > 1 ? 3 : 2) - (layer.layer.activation || !summed ? 0 : 1)) *
             element * elements;
    case CnnLayer::Kind::MaxPool:
      return (element + kIndex) * elements;
    case CnnLayer::Kind::AveragePool:
      return element * elements;
  }
  return 0;
}

/// Backward comes to a layer when what the layers behind it kept is gone.
class Peak {
 public:
  explicit Peak(double inputs) : kept_{inputs}, activations_{inputs} {}

  void pass(double kept, double output) {
    kept_ += kept;
    if (kept_ + kGradientsAtATime * output >= activations_ + workspace_) {
      activations_ = kept_;
      workspace_ = kGradientsAtATime * output;
    }
  }
  [[nodiscard]] double activations() const { return activations_; }
  [[nodiscard]] double workspace() const { return workspace_; }

 private:
  double kept_, activations_, workspace_ = 0;
};

}  // namespace

MemoryBreakdown cnn_memory(const CnnSpec& spec, std::span<const ShapedBlock> blocks,
                           const TrainingSetup& setup) {
  const double element = size_of(storage_type(setup.precision)) / Bytes{1};
  const auto bytes_of = [](const std::vector<std::int64_t>& sizes) {
    return kFloat * static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}));
  };
  const double parameters = bytes_of(cnn_parameters(spec)),
               trained = bytes_of(cnn_parameters(spec, setup.frozen));
  const std::int64_t lowest =
      setup.frozen.lowest_reached(ModelPart::Blocks, static_cast<std::int64_t>(blocks.size()), false);
  Peak peak{kFloat * static_cast<double>(blocks.front().input.elements())};
  for (const ShapedBlock& block : blocks.subspan(static_cast<std::size_t>(lowest))) {
    for (const std::vector<ShapedLayer>& branch : block.branches) {
      for (const ShapedLayer& layer : branch) {
        peak.pass(kept(layer, block.join == Join::Add, element),
                  element * static_cast<double>(layer.output.elements()));
      }
    }
    if (block.branches.size() > 1) {
      const double joined = element * static_cast<double>(block.output.elements());
      peak.pass(joined, joined);
    }
  }
  MemoryBreakdown memory;
  memory[MemoryUse::Parameters] = parameters;
  memory[MemoryUse::Gradients] = trained;
  memory[MemoryUse::Optimizer] = setup.optimizer.states() * trained;
  memory[MemoryUse::Activations] = peak.activations();
  memory[MemoryUse::Workspace] = peak.workspace() + (element < kFloat ? parameters / kFloat * element : 0);
  memory[MemoryUse::Communication] = setup.gpus.size() > 1 ? trained : 0;
  return memory;
}

}  // namespace lockstep
