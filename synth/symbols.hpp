#pragma once

#include <optional>
#include <span>
#include <vector>

#include "synth/model.hpp"

namespace lockstep::synth {

/// Sizes that the kernels' shapes tell: hidden (columns of layer norms; else the side
/// that all linear layers share), sequence and head_size (attention),
/// batch (rows of layer norms over sequence; bags of embeddings; images of convolutions), vocabulary (columns
/// of the loss). Those that no kernel tells are missing.
[[nodiscard]] Symbols symbols_told_by(const Template& tmpl);

/// Layers of a transformer: the count of repetitions that most of the tokens are in, and layers beside that
/// block (first and last ones differ where parameters are fetched ahead): as many times more, at most two, as
/// most of the block's kernels are launched. 0 when nothing is repeated at least three times.
[[nodiscard]] std::uint32_t layers_of(const Template& tmpl);

/// How often a block, of no layer itself, is repeated with other layers: counts that are layers, or a
/// multiple, grow with them; those up to two off grow by as many.
[[nodiscard]] std::uint32_t count_with(const Item& block, const Symbols& symbols, const Symbols& fitted);

/// Whether that is more than it is with more layers.
[[nodiscard]] bool grows_with_layers(const Item& block, const Symbols& fitted);

/// Elements of a weight's gradient that a kernel computes; none: another kernel.
///
///   product    m*n, where m and n grow neither with batch nor with sequence, while k does
///   reduction  columns, summed over rows that grow with batch or sequence (a bias)
///   norm       columns for gamma, as many for beta
struct GradientElements {
  double elements = 0;
  bool is_matrix = false;
};
[[nodiscard]] std::optional<GradientElements> gradient_elements(const KernelEntry& kernel,
                                                                const Symbols& symbols);

/// Parameters of one template's step.
struct Parameters {
  double all = 0;
  double of_layers = 0;  ///< of them, in blocks that are repeated with the layers
};

/// Elements of all weights' gradients, as many times as they occur with so many layers.
[[nodiscard]] Parameters parameters_of(const Template& tmpl, const Symbols& symbols, const Symbols& fitted);

}  // namespace lockstep::synth
