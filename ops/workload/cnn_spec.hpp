#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/parameters.hpp"

namespace lockstep {

/// How the branches of a block become one tensor.
enum class Join : std::uint8_t {
  Concatenate,  ///< along the channels; one branch alone stays what it is
  Add,          ///< and ReLU: a residual block; a branch without layers is the block's input
};
constexpr auto names_of(Join) {
  return std::to_array<EnumName<Join>>({{Join::Concatenate, "concatenate"}, {Join::Add, "add"}});
}

/// One layer of a branch.
struct CnnLayer {
  enum class Kind : std::uint8_t { Convolution, MaxPool, AveragePool };
  struct Filter {
    std::int64_t height = 1, width = 1;
  };

  Kind kind = Kind::Convolution;
  std::int64_t channels = 0;    ///< of the output of each filter; pools keep theirs
  std::vector<Filter> filters;  ///< several: of the same input, concatenated
  std::int64_t stride = 1;
  bool padded = true;      ///< with (filter - 1) / 2, so that stride 1 keeps the size; else not at all
  bool activation = true;  ///< ReLU behind a convolution's batch norm

  /// conv CHANNELS HxW[+HxW] [/STRIDE] [valid] [linear]  |  max_pool HxW ... |  average_pool HxW ...
  /// @throws std::invalid_argument with what is wrong and an example
  static CnnLayer parse(const std::string& text);
};

/// Branches of the same input, joined.
struct CnnBlock {
  int repeat = 1;
  Join join = Join::Concatenate;
  std::vector<std::vector<std::string>> branches;

  template <class Visitor>
  static void describe(Visitor& key, CnnBlock& block) {
    key.optional("repeat", block.repeat, 1, "how many such blocks follow one another");
    key.optional("join", block.join, Join::Concatenate, "how branches become one tensor");
    key.required("branches", block.branches,
                 "lists of layers, each 'conv CHANNELS HxW', 'max_pool HxW' or 'average_pool HxW', then "
                 "optionally /STRIDE, 'valid' (no padding), 'linear' (no ReLU); 1x3+3x1: two filters side by "
                 "side");
  }
  /// @throws FieldError for a layer that cannot be read or a block without branches
  void check() const;
};

/// A convolutional network for classification: blocks, average over all pixels, a linear layer. Convolutions
/// have no bias; each is followed by batch norm and, unless 'linear', ReLU.
struct CnnSpec {
  std::int64_t image_channels = 3;
  std::int64_t image_size = 224;
  std::int64_t classes = 1000;
  double dropout = 0;
  bool channels_last = false;
  bool input_on_device = false;
  bool timed_by_phase = false;
  bool cudnn_benchmark = false;
  std::vector<CnnBlock> blocks;

  template <class Visitor>
  static void describe(Visitor& key, CnnSpec& cnn) {
    key.optional("image_channels", cnn.image_channels, 3, "of the input");
    key.required("image_size", cnn.image_size, "pixels along each side of the input");
    key.optional("classes", cnn.classes, 1000, "outputs of the last layer");
    key.optional("dropout", cnn.dropout, 0, "probability before the last layer; 0: no such layer");
    key.optional(
        "channels_last", cnn.channels_last, false,
        "activations in NHWC (torch.channels_last); else in NCHW, and convolutions on tensor cores copy them "
        "into NHWC and back");
    key.optional(
        "input_on_device", cnn.input_on_device, false,
        "the same images each step, copied once: synthetic benchmarks; else each step copies its own");
    key.optional(
        "timed_by_phase", cnn.timed_by_phase, false,
        "a step is the sum of forward, backward and update timed one by one, as convnet-benchmark-py "
        "does: the host waits for the GPU after each, and zeroes gradients between steps, untimed");
    key.optional(
        "cudnn_benchmark", cnn.cudnn_benchmark, false,
        "cuDNN times its algorithms for each convolution and takes the fastest "
        "(torch.backends.cudnn.benchmark); else it guesses, in FP32 mostly slower ones for 1 x 1 filters and "
        "gradients");
    key.required("blocks", cnn.blocks, "in order");
  }
  /// @throws FieldError for sizes below 1, or branches that cannot be joined (sizes, channels) or shrink an
  /// image to nothing, with the block's path
  void check() const;
};

}  // namespace lockstep
