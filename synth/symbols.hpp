#pragma once

#include <span>
#include <vector>

#include "synth/model.hpp"

namespace lockstep::synth {

/// Sizes that the kernels' shapes tell: hidden (columns of layer norms), sequence and head_size (attention),
/// batch (rows of layer norms over sequence; bags of embeddings; images of convolutions), vocabulary (columns
/// of the loss). Those that no kernel tells are missing.
[[nodiscard]] Symbols symbols_told_by(const Template& tmpl);

/// The times that a transformer's layer is repeated: the count that most of the tokens are in, 0 when nothing
/// is repeated at least three times.
[[nodiscard]] std::uint32_t layers_of(const std::vector<Item>& body);

/// The simplest product of symbols that is @p values, one a job.
/// *Algorithm*: all products with powers from -1 to 2 whose factor is the same in all jobs; taken is the one
/// of the shortest description: powers count 1 each; a factor p/q costs 1.5 + log2(p) + 2 log2(q), where p is
/// a power of two 1 + log2(p) / 2 + 2 log2(q), one more for the sequence without the batch; a number without
/// symbols costs 1.5 + log2(number). Other factors than p/q with p up to 512 and q of 1, 2, 4, 8 or 16 are no
/// product.
[[nodiscard]] Monomial simplest_product(std::span<const double> values, std::span<const Symbols> symbols);

/// Finds the sizes of all entries as products of their job's symbols. Each place has an entry of its own
/// (fit.cpp). Where the same stands in a block, or between two blocks, of several jobs, their sizes are
/// compared place by place, and one product must give them all.
void express_sizes(std::span<JobModel> jobs);

/// How often a block is repeated with other layers: counts that are layers, or a multiple, grow with them;
/// those up to two off grow by as many.
[[nodiscard]] std::uint32_t count_with(const Item& block, const Symbols& symbols, const Symbols& fitted);

/// Whether that is more than it is with more layers.
[[nodiscard]] bool grows_with_layers(const Item& block, const Symbols& fitted);

/// Parameters of the products of one template's step.
struct Parameters {
  double all = 0;
  double of_layers = 0;  ///< of them, in blocks that are repeated with the layers
};

/// Outputs m*n of products whose m and n grow neither with batch nor with sequence, while k does (weight
/// gradients), as many times as they occur with so many layers.
[[nodiscard]] Parameters parameters_of(const Template& tmpl, const Symbols& symbols, const Symbols& fitted);

}  // namespace lockstep::synth
