#include "ops/workload/cnn_layers.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace lockstep {
namespace {

std::int64_t padding_of(const CnnLayer& layer, std::int64_t filter) {
  return layer.padded ? (filter - 1) / 2 : 0;
}

std::int64_t size_after(const CnnLayer& layer, std::int64_t size, std::int64_t filter) {
  const std::int64_t rest = size + 2 * padding_of(layer, filter) - filter;
  return rest < 0 ? 0 : rest / layer.stride + 1;
}

ImageShape output_of(const CnnLayer& layer, const ImageShape& input, const std::string& block) {
  ImageShape output = input;
  for (std::size_t i = 0; i < layer.filters.size(); ++i) {
    const CnnLayer::Filter& filter = layer.filters[i];
    const std::int64_t height = size_after(layer, input.height, filter.height);
    const std::int64_t width = size_after(layer, input.width, filter.width);
    if (height < 1 || width < 1) {
      throw FieldError{block, fmt::format("a filter of {} x {} leaves nothing of an image of {} x {} pixels",
                                          filter.height, filter.width, input.height, input.width)};
    }
    if (i > 0 && (height != output.height || width != output.width)) {
      throw FieldError{block, "filters side by side leave images of different sizes"};
    }
    output.height = height;
    output.width = width;
  }
  if (layer.kind == CnnLayer::Kind::Convolution) {
    output.channels = layer.channels * static_cast<std::int64_t>(layer.filters.size());
  }
  return output;
}

/// The image that branches of outputs @p of make together.
ImageShape joined(Join join, const std::vector<ImageShape>& of, const std::string& block) {
  ImageShape output = of.front();
  for (std::size_t branch = 1; branch < of.size(); ++branch) {
    const ImageShape& other = of[branch];
    if (other.height != output.height || other.width != output.width) {
      throw FieldError{block, fmt::format("branch {} leaves images of {} x {} pixels, branch 0 of {} x {}",
                                          branch, other.height, other.width, of[0].height, of[0].width)};
    }
    if (join == Join::Add && other.channels != output.channels) {
      throw FieldError{block, fmt::format("branch {} has {} channels, branch 0 has {}: they cannot be added",
                                          branch, other.channels, output.channels)};
    }
    output.channels += join == Join::Concatenate ? other.channels : 0;
  }
  return output;
}

ShapedBlock shaped(const CnnSpec& cnn, const CnnBlock& block, const ImageShape& input,
                   const std::string& path) {
  ShapedBlock result{.join = block.join, .branches = {}, .input = input, .output = {}};
  std::vector<ImageShape> outputs;
  for (const std::vector<std::string>& branch : block.branches) {
    ImageShape shape = input;
    std::vector<ShapedLayer>& layers = result.branches.emplace_back();
    for (const std::string& text : branch) {
      const CnnLayer layer = CnnLayer::parse(text);
      const ImageShape output = output_of(layer, shape, path);
      layers.push_back({layer, shape, output, !cnn.channels_last, cnn.cudnn_benchmark});
      shape = output;
    }
    outputs.push_back(shape);
  }
  result.output = joined(block.join, outputs, path);
  return result;
}

}  // namespace

Convolution ShapedLayer::convolution(std::size_t filter, Convolution::Pass pass) const {
  if (layer.kind != CnnLayer::Kind::Convolution) {
    throw std::logic_error{"a pool is no convolution"};
  }
  const CnnLayer::Filter& of = layer.filters.at(filter);
  return {.batch = input.batch,
          .in_channels = input.channels,
          .out_channels = layer.channels,
          .height = input.height,
          .width = input.width,
          .filter_height = of.height,
          .filter_width = of.width,
          .stride = layer.stride,
          .padding_height = padding_of(layer, of.height),
          .padding_width = padding_of(layer, of.width),
          .pass = pass,
          .channels_first = channels_first,
          .tuned = tuned};
}

ImageShape ShapedLayer::output_of_filter() const {
  ImageShape part = output;
  part.channels /=
      layer.kind == CnnLayer::Kind::Convolution ? static_cast<std::int64_t>(layer.filters.size()) : 1;
  return part;
}

std::int64_t ShapedLayer::weights(std::size_t filter) const {
  const CnnLayer::Filter& of = layer.filters.at(filter);
  return input.channels * layer.channels * of.height * of.width;
}

std::vector<ShapedBlock> cnn_layers(const CnnSpec& cnn, std::int64_t batch) {
  ImageShape shape{batch, cnn.image_channels, cnn.image_size, cnn.image_size};
  std::vector<ShapedBlock> blocks;
  for (std::size_t i = 0; i < cnn.blocks.size(); ++i) {
    for (int repeat = 0; repeat < cnn.blocks[i].repeat; ++repeat) {
      blocks.push_back(shaped(cnn, cnn.blocks[i], shape, fmt::format("blocks.{}", i)));
      shape = blocks.back().output;
    }
  }
  return blocks;
}

std::vector<std::int64_t> cnn_parameters(const CnnSpec& cnn, const FrozenParts& frozen) {
  std::vector<std::int64_t> parameters;
  const std::vector<ShapedBlock> blocks = cnn_layers(cnn, 1);
  std::int64_t number = 0;
  for (const ShapedBlock& block : blocks) {
    if (frozen.has(ModelPart::Blocks, number++)) continue;
    for (const std::vector<ShapedLayer>& branch : block.branches) {
      for (const ShapedLayer& layer : branch) {
        if (layer.layer.kind != CnnLayer::Kind::Convolution) continue;
        for (std::size_t filter = 0; filter < layer.layer.filters.size(); ++filter) {
          parameters.insert(parameters.end(),
                            {layer.weights(filter), layer.layer.channels, layer.layer.channels});
        }
      }
    }
  }
  if (!frozen.has(ModelPart::Head)) {
    parameters.insert(parameters.end(), {blocks.back().output.channels * cnn.classes, cnn.classes});
  }
  return parameters;
}

std::vector<ModuleBuffers> cnn_buffers(std::span<const ShapedBlock> blocks) {
  ModuleBuffers averages, counts{.type = DataType::INT64, .elements = {}};
  for (const ShapedBlock& block : blocks) {
    for (const std::vector<ShapedLayer>& branch : block.branches) {
      for (const ShapedLayer& layer : branch) {
        if (layer.layer.kind != CnnLayer::Kind::Convolution) continue;
        for (std::size_t filter = 0; filter < layer.layer.filters.size(); ++filter) {
          averages.elements.insert(averages.elements.end(), 2, layer.layer.channels);
          counts.elements.push_back(1);
        }
      }
    }
  }
  return {averages, counts};
}

}  // namespace lockstep
