#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/yaml_node.hpp"
#include "ops/workload/workload.hpp"
#include "scenario/schedule_spec.hpp"

namespace lockstep {

/// A layer group of a phase's model, as a line says it.
struct KeptWidth {
  LayerGroup group = LayerGroup::Layers;
  double asked = 1;  ///< share
  std::string full;  ///< widths, e.g. `1024-1024-512-256-1`
  std::string kept;
  std::optional<std::int64_t> table{};  ///< the only one that this is about
};

/// A key of the scenario with what stands there in a phase.
using KeyValue = std::pair<std::string, YamlNode>;

/// A model of which shares are kept.
struct KeptModel {
  ModelSpec model;
  std::vector<KeptWidth> widths;
  std::vector<KeyValue> changes;  ///< by key below `workload.model`, e.g. `dlrm.top_mlp`
  double structures = 0;          ///< rows, columns, heads, ... of the full model that are chosen among
};

/// The nearest multiple of @p multiple to share x full, at least one of them, at most the full width; a share
/// of 1 is the full width, whatever it is.
[[nodiscard]] std::int64_t kept_width(std::int64_t full, double share, std::int64_t multiple);

/// Widths of which kept ones are multiples: @p asked, or 64 where products run on tensor cores, 8 in FP32 and
/// of channels.
/// *Source*: NVIDIA, "Matrix Multiplication Background User's Guide": tiles of 64 to 256, and dimensions that
/// are multiples of 8 elements of 16 bits.
[[nodiscard]] std::int64_t usual_multiple(const ModelSpec& model, Precision precision,
                                          std::optional<std::int64_t> asked);

/// Narrows and shortens a model. What goes together goes together:
///
///   bottom_mlp     its inner widths: the first are the dense features, the last is embedding_dim's
///   top_mlp        all widths but the last
///   embedding_dim  of every table, and with the dot interaction the bottom MLP's output
///   interaction    tables, the first ones: the others and their features go
///   hidden         the residual stream; with heads it is heads x head size, else heads get narrower
///   heads          with their rows of queries, keys, values and output; kv_heads follow where there are as
///   many feed_forward   of every layer; one that is 4 x hidden in the model follows hidden channels       of
///   every convolution
///
/// An encoder-decoder's heads have a size of their own, and its two stacks lose the same share of layers.
/// @throws FieldError naming the group (`hidden`) that the model has not, or a number that does not divide,
///   with the nearest that does
[[nodiscard]] KeptModel kept_model(const ModelSpec& full, const KeptShares& keep, std::int64_t multiple,
                                   const TransformerPlanSpec& plan);

}  // namespace lockstep
