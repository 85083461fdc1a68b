#include "traces/replay/pointwise_work.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/max_pool.hpp"

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

/// How an element-wise kernel goes through its operands (ATen/native/cuda/CUDALoops.cuh).
enum class Access : std::uint8_t {
  Vectors,   ///< several elements at a time: all operands are contiguous
  Elements,  ///< one at a time, of contiguous operands: their types differ, or they are not aligned
  Offsets,   ///< one at a time, each found by its offset: an operand is broadcast or strided
};

/// The name of a kernel's template, without what stands around it; empty: no element-wise kernel.
std::string_view elementwise_template(std::string_view kernel) {
  const std::size_t at = kernel.find("elementwise_kernel");
  if (at == std::string_view::npos) {
    return {};
  }
  const auto is_of_a_name = [](char c) {
    return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_';
  };
  std::size_t begin = at, end = at;
  while (begin > 0 && is_of_a_name(kernel[begin - 1])) --begin;
  while (end < kernel.size() && is_of_a_name(kernel[end])) ++end;
  return kernel.substr(begin, end - begin);
}

/// Unrolled kernels name the calculators of their operands' offsets: all trivial, or not.
bool has_trivial_offsets_only(std::string_view kernel) {
  constexpr std::string_view kCalculator = "OffsetCalculator", kTrivial = "Trivial";
  std::size_t at = kernel.find(kCalculator);
  const bool is_any = at != std::string_view::npos;
  for (; at != std::string_view::npos; at = kernel.find(kCalculator, at + 1)) {
    if (!kernel.substr(0, at).ends_with(kTrivial)) {
      return false;
    }
  }
  return is_any;
}

Access access_of(std::string_view kernel) {
  const std::string_view name = elementwise_template(kernel);
  if (name == "unrolled_elementwise_kernel") {
    return has_trivial_offsets_only(kernel) ? Access::Elements : Access::Offsets;
  }
  return name == "elementwise_kernel" || name == "legacy_elementwise_kernel" ? Access::Offsets
                                                                             : Access::Vectors;
}

double bytes_of(const OperatorArgument& argument) {
  const auto type = data_type_of(argument.type);
  return argument.shape && type ? elements_of(*argument.shape) * (size_of(*type) / Bytes{1}) : 0;
}

/// The sizes of the operands of a row's operator.
struct Operands {
  double elements = 0;        ///< of the largest
  double read = 0;            ///< bytes
  bool is_broadcast = false;  ///< one that is read has fewer elements; numbers may come from the host

  Operands(const OperatorArguments& op, const Row& row) {
    const std::size_t count = std::max<std::size_t>(row.read_to, 1);
    for (std::size_t i = 0; i < count; ++i) {
      const Dims* dims = op.tensor(i);
      elements = std::max(elements, dims == nullptr ? 0 : elements_of(*dims));
      read += i >= row.read_from && i < row.read_to && dims != nullptr ? bytes_of(op.arguments[i]) : 0;
    }
    for (std::size_t i = row.read_from; i < row.read_to; ++i) {
      const Dims* dims = op.tensor(i);
      is_broadcast = is_broadcast || (dims != nullptr && !dims->empty() && elements_of(*dims) < elements);
    }
  }
};

/// Bytes read and written as multiples of a tensor of the largest operand's elements.
ModelledWork element_wise(const OperatorLaunches& op, DataType type, const Operands& operands, const Row& row,
                          Access access) {
  const double tensor = operands.elements * (size_of(type) / Bytes{1});
  const Pointwise work{.elements = static_cast<std::int64_t>(operands.elements),
                       .reads = operands.read / tensor,
                       .writes = 1 + row.bytes_besides * operands.elements / tensor,
                       .flops = row.flops,
                       .instructions = access == Access::Vectors ? 0 : kernels::kUnvectorised};
  return {"element-wise", {{"pointwise", type, work}}, works_of(op)};
}

/// Backward (grad_output, input, window, stride, ...) says both sides, forward (input, window, stride,
/// padding, ...) one: the other follows.
std::optional<kernels::Pool> pool_of(const OperatorArguments& op, bool backward) {
  const Dims* input = op.tensor(backward ? 1 : 0);
  if (input == nullptr || input->size() != 4 || (*input)[2] < 1 || (*input)[3] < 1) {
    return std::nullopt;
  }
  kernels::Pool pool{.planes = (*input)[0] * (*input)[1], .height = (*input)[2], .width = (*input)[3]};
  const std::size_t first = backward ? 2 : 1;
  const Dims window = op.numbers(first), stride = op.numbers(first + 1), padding = op.numbers(first + 2);
  if (backward) {
    const Dims* output = op.tensor(0);
    if (output == nullptr || output->size() != 4 || (*output)[2] < 1 || (*output)[3] < 1) {
      return std::nullopt;
    }
    pool.out_height = (*output)[2];
    pool.out_width = (*output)[3];
    // Windows that the trace does not say are taken to lie side by side.
    pool.window_height =
        window.size() == 2 ? window[0] : std::max<std::int64_t>(pool.height / pool.out_height, 1);
    pool.window_width =
        window.size() == 2 ? window[1] : std::max<std::int64_t>(pool.width / pool.out_width, 1);
    return pool;
  }
  if (window.size() != 2 || stride.size() != 2 || padding.size() != 2) {
    return std::nullopt;
  }
  const auto out = [&](std::int64_t in, std::size_t i) {
    return (in + 2 * padding[i] - window[i]) / std::max<std::int64_t>(stride[i], 1) + 1;
  };
  pool.out_height = out(pool.height, 0);
  pool.out_width = out(pool.width, 1);
  pool.window_height = window[0];
  pool.window_width = window[1];
  return pool.out_height < 1 || pool.out_width < 1 ? std::nullopt : std::optional{pool};
}

/// The kernels of pooling in NCHW; those of NHWC keep their time.
std::vector<ModelledWork> pooling(const OperatorLaunches& op, DataType type) {
  const bool backward = op.called.name == "aten::max_pool2d_with_indices_backward";
  const auto pool = pool_of(op.called, backward);
  if (!pool || op.kernels.front().name.find("_nhwc") != std::string::npos) {
    return {};
  }
  return {{"pooling",
           {backward ? kernels::max_pool_backward(*pool, type) : kernels::max_pool_forward(*pool, type)},
           works_of(op)}};
}

}  // namespace

bool computes_offsets(std::string_view kernel) {
  return access_of(kernel) == Access::Offsets;
}

std::vector<ModelledWork> pointwise_work(const OperatorLaunches& op) {
  const auto type = op.called.type();
  if (!type || !is_one_kernel(op)) {
    return {};
  }
  if (op.called.name.starts_with("aten::max_pool2d_with_indices")) {
    return pooling(op, *type);
  }
  const Row* row = row_of(op.called.name);
  if (row == nullptr) {
    return {};
  }
  const Operands operands{op.called, *row};
  const Access access = access_of(op.kernels.front().name);
  // A trace tells the layout of operands in memory only by shapes that differ.
  if (operands.elements < 1 || (access == Access::Offsets && !operands.is_broadcast)) {
    return {};
  }
  return {element_wise(op, *type, operands, *row, access)};
}

}  // namespace lockstep::replay
