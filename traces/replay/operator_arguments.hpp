#pragma once

/// @file
/// What a recorded operator was called with, as far as the profiler says it (record_shapes=True).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/kernel.hpp"
#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::replay {

using Dims = std::vector<std::int64_t>;

/// Elements of a tensor; 1 for one without dimensions.
[[nodiscard]] double elements_of(const Dims& dims);

struct OperatorArgument {
  std::string type;           ///< `float`, `c10::Half`, `TensorList` (or, from an execution trace,
                              ///< `TensorList(float)`), `Scalar`, ...
  std::optional<Dims> shape;  ///< of a tensor
  std::vector<Dims> shapes;   ///< of a list of tensors; empty where only its length 0 was recorded
  std::string value;          ///< of anything else, as text; empty: not recorded
};

struct OperatorArguments {
  std::string name;
  std::vector<OperatorArgument> arguments;

  /// Shape of argument @p index; null: it is no tensor, or there are fewer arguments.
  [[nodiscard]] const Dims* tensor(std::size_t index) const;
  /// Its value as a list of numbers (a number is a list of one); empty: not recorded, or something else.
  [[nodiscard]] Dims numbers(std::size_t index) const;
  /// Type of the first tensor; none: there is none, or the models do not know the type.
  [[nodiscard]] std::optional<DataType> type() const;
};

/// The data type that PyTorch calls so (`float`, `c10::BFloat16`, `long int`); none: of no kernel model.
[[nodiscard]] std::optional<DataType> data_type_of(const std::string& name);

/// Shapes that are no JSON lists are as if not recorded.
[[nodiscard]] OperatorArguments arguments_of(const kineto::RecordedTrace& trace, const kineto::Operator& op);

}  // namespace lockstep::replay
