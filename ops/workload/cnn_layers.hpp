#pragma once

/// @file
/// A convolutional network with all sizes known.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/kernel.hpp"
#include "ops/workload/cnn_spec.hpp"
#include "ops/workload/frozen_parts.hpp"
#include "ops/workload/module_buffers.hpp"

namespace lockstep {

/// A tensor [batch, channels, height, width].
struct ImageShape {
  std::int64_t batch = 1, channels = 0, height = 0, width = 0;
  [[nodiscard]] std::int64_t pixels() const { return height * width; }
  [[nodiscard]] std::int64_t elements() const { return batch * channels * pixels(); }
  bool operator==(const ImageShape&) const = default;
};

/// One layer with its input and output.
struct ShapedLayer {
  CnnLayer layer;
  ImageShape input, output;
  bool channels_first = true;  ///< in memory: NCHW
  bool tuned = false;          ///< Convolution::tuned

  /// The convolution by the layer's filter @p filter. @throws std::logic_error for a pool
  [[nodiscard]] Convolution convolution(std::size_t filter, Convolution::Pass pass) const;
  /// The image that a filter leaves: all channels of the output, or its part of them.
  [[nodiscard]] ImageShape output_of_filter() const;
  /// Elements of the filters of one convolution.
  [[nodiscard]] std::int64_t weights(std::size_t filter) const;
};

struct ShapedBlock {
  Join join = Join::Concatenate;
  std::vector<std::vector<ShapedLayer>> branches;
  ImageShape input, output;
};

/// All blocks of @p cnn for @p batch images, repeated ones written out.
/// @throws FieldError naming the block (`blocks.2`) whose layers leave nothing of the image or whose branches
/// cannot be joined
[[nodiscard]] std::vector<ShapedBlock> cnn_layers(const CnnSpec& cnn, std::int64_t batch);

/// Elements of each parameter in the order of the modules: filters, gain and bias of batch norm; at last the
/// linear layer's weight and bias. Those of frozen parts are left out.
[[nodiscard]] std::vector<std::int64_t> cnn_parameters(const CnnSpec& cnn, const FrozenParts& frozen = {});

/// The buffers of batch norms: averages of mean and variance, and how many batches they are of.
[[nodiscard]] std::vector<ModuleBuffers> cnn_buffers(std::span<const ShapedBlock> blocks);

}  // namespace lockstep
