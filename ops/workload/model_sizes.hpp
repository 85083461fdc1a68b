#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "ops/workload/model_spec.hpp"

namespace lockstep {

/// Layers that follow one another, and embedding tables: ten times as many as any model has. What they cost
/// is written one by one.
inline constexpr std::int64_t kMostLayers = 10'000;
inline constexpr std::int64_t kMostTables = 100'000;

/// Elements of all tables, or of one tensor of a step: 64 bytes of each can still be counted in 64 bits.
inline constexpr double kMostElements = 1e16;

/// Parameters besides tables: ten times as many as any model has. Optimizers write a kernel for each 20
/// million.
inline constexpr double kMostParameters = 2e13;

/// A size that multiplies others, and the key that says it.
struct SizeFactor {
  const char* key;
  double value;
};

/// @throws FieldError that points at the largest of @p factors where their product is beyond @p most
void check_elements(const char* what, std::initializer_list<SizeFactor> factors, double most = kMostElements);

/// @throws FieldError that points at @p key where @p value is beyond @p most
void check_at_most(const char* key, std::int64_t value, std::int64_t most);

/// Checks a convolutional network before its layers are listed. @throws FieldError: more than can be counted
void check_sizes(const CnnSpec& model);
void check_sizes(const DlrmSpec& model);
void check_sizes(const TransformerSpec& model);
void check_sizes(const EncoderDecoderSpec& model);
void check_sizes(const XlnetSpec& model);

/// Elements of the largest tensor that a sample makes: a bound from above.
[[nodiscard]] double elements_of_sample(const ModelSpec& model, std::optional<std::int64_t> sequence);

/// @throws std::invalid_argument where the operations of a step are more than this machine can hold
void check_operations(const ModelSpec& model, int micro_batches);

}  // namespace lockstep
