#include "traces/replay/pointwise_work.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace lockstep::replay {
namespace {

/// An operator that reads its first arguments and writes tensors of the size of the largest one.
struct Row {
  std::size_t read_from = 0;  ///< the first argument that is read
  std::size_t read_to = 1;    ///< and the one after the last
  double flops = 1;           ///< per element; a function such as exp counts as one
  double bytes_besides = 0;   ///< per element, read or written: masks
};

/// Arguments by the signatures of ATen/native/native_functions.yaml. In-place operators are the same ones
/// with an underscore.
const std::map<std::string_view, Row>& rows() {
  static const std::map<std::string_view, Row> kRows{
      {"aten::add", {0, 2, 1}},
      {"aten::sub", {0, 2, 1}},
      {"aten::mul", {0, 2, 1}},
      {"aten::div", {0, 2, 1}},
      {"aten::addcmul", {0, 3, 3}},
      {"aten::addcdiv", {0, 3, 3}},
      {"aten::lerp", {0, 2, 3}},
      {"aten::threshold", {0, 1, 1}},
      {"aten::threshold_backward", {0, 2, 1}},
      {"aten::clamp_min", {0, 1, 1}},
      {"aten::clamp", {0, 1, 2}},
      {"aten::relu", {0, 1, 1}},
      {"aten::gelu", {0, 1, 8}},
      {"aten::gelu_backward", {0, 2, 16}},
      {"aten::silu", {0, 1, 4}},
      {"aten::silu_backward", {0, 2, 8}},
      {"aten::sigmoid", {0, 1, 4}},
      {"aten::sigmoid_backward", {0, 2, 3}},
      {"aten::tanh", {0, 1, 4}},
      {"aten::tanh_backward", {0, 2, 3}},
      {"aten::exp", {0, 1, 1}},
      {"aten::log", {0, 1, 1}},
      {"aten::sqrt", {0, 1, 1}},
      {"aten::rsqrt", {0, 1, 1}},
      {"aten::neg", {0, 1, 1}},
      {"aten::abs", {0, 1, 1}},
      {"aten::pow", {0, 1, 1}},
      {"aten::reciprocal", {0, 1, 1}},
      {"aten::fill", {0, 0, 0}},
      {"aten::zero", {0, 0, 0}},
      {"aten::copy", {1, 2, 0}},
      {"aten::native_dropout", {0, 1, 4, 1}},           // writes a mask of bytes
      {"aten::native_dropout_backward", {0, 2, 2, 0}},  // reads it: argument 1
  };
  return kRows;
}

const Row* row_of(std::string name) {
  if (name.ends_with('_')) {
    name.pop_back();
  }
  const auto found = rows().find(name);
  return found == rows().end() ? nullptr : &found->second;
}

/// Tensors beyond 2^31 bytes are worked on in parts (TensorIterator::with_32bit_indexing).
bool is_one_kernel(const OperatorLaunches& op) {
  return std::ranges::all_of(
      op.kernels, [&](const LaunchedKernel& kernel) { return kernel.name == op.kernels.front().name; });
}

std::vector<std::uint32_t> works_of(const OperatorLaunches& op) {
  std::vector<std::uint32_t> works;
  for (const LaunchedKernel& kernel : op.kernels) {
    works.push_back(kernel.work);
  }
  return works;
}

double bytes_of(const OperatorArgument& argument) {
  const auto type = data_type_of(argument.type);
  return argument.shape && type ? elements_of(*argument.shape) * (size_of(*type) / Bytes{1}) : 0;
}

/// Bytes read and written as multiples of a tensor of @p elements.
ModelledWork element_wise(const OperatorLaunches& op, DataType type, double read, double elements,
                          const Row& row) {
  const double tensor = elements * (size_of(type) / Bytes{1});
  const Pointwise work{.elements = static_cast<std::int64_t>(elements),
                       .reads = read / tensor,
                       .writes = 1 + row.bytes_besides * elements / tensor,
                       .flops = row.flops};
  return {"element-wise", {{"pointwise", type, work}}, works_of(op)};
}

/// The kernels of pooling in NCHW. Backward (grad_output, input, ..., indices): reads gradients and their
/// 8-byte indices, writes gradients of the input. Forward says no output: it follows from size and stride.
std::optional<ModelledWork> pooling(const OperatorLaunches& op, DataType type) {
  constexpr double kIndexBytes = 8;
  const bool backward = op.called.name == "aten::max_pool2d_with_indices_backward";
  const Dims* large = op.called.tensor(backward ? 1 : 0);
  if (large == nullptr || large->size() != 4) {
    return std::nullopt;
  }
  double small = 0;
  if (backward) {
    small = op.called.tensor(0) == nullptr ? 0 : elements_of(*op.called.tensor(0));
  } else {
    const Dims window = op.called.numbers(1), stride = op.called.numbers(2), padding = op.called.numbers(3);
    if (window.size() != 2 || stride.size() != 2 || padding.size() != 2) {
      return std::nullopt;
    }
    const auto out = [&](std::size_t i) {
      return ((*large)[2 + i] + 2 * padding[i] - window[i]) / std::max<std::int64_t>(stride[i], 1) + 1;
    };
    small = elements_of({(*large)[0], (*large)[1], out(0), out(1)});
  }
  if (small < 1) {
    return std::nullopt;
  }
  const double element = size_of(type) / Bytes{1};
  const double of_small = 1 + kIndexBytes / element;  // with its indices
  const double ratio = elements_of(*large) / small;
  const Pointwise work{.elements = static_cast<std::int64_t>(small),
                       .reads = backward ? of_small : ratio,
                       .writes = backward ? ratio : of_small,
                       .flops = ratio};
  return ModelledWork{"pooling", {{"max_pool", type, work}}, works_of(op)};
}

}  // namespace

std::vector<ModelledWork> pointwise_work(const OperatorLaunches& op) {
  const auto type = op.called.type();
  if (!type || !is_one_kernel(op)) {
    return {};
  }
  if (op.called.name.starts_with("aten::max_pool2d_with_indices")) {
    auto pooled = pooling(op, *type);
    return pooled ? std::vector{*std::move(pooled)} : std::vector<ModelledWork>{};
  }
  const Row* row = row_of(op.called.name);
  if (row == nullptr) {
    return {};
  }
  double read = 0;
  double elements = 0;
  for (std::size_t i = 0; i < std::max<std::size_t>(row->read_to, 1); ++i) {
    const Dims* dims = op.called.tensor(i);
    elements = std::max(elements, dims == nullptr ? 0 : elements_of(*dims));
    read += i >= row->read_from && i < row->read_to && dims != nullptr ? bytes_of(op.called.arguments[i]) : 0;
  }
  if (elements < 1) {
    return {};
  }
  return {element_wise(op, *type, read, elements, *row)};
}

}  // namespace lockstep::replay
