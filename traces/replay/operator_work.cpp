#include "traces/replay/operator_work.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>

#include "ops/workload/layers/kernels.hpp"
#include "traces/replay/convolution_work.hpp"
#include "traces/replay/embedding_work.hpp"
#include "traces/replay/pointwise_work.hpp"

namespace lockstep::replay {
namespace {

bool contains(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

std::int64_t count(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies{});
}

std::vector<ModelledWork> one_work(const OperatorLaunches& op, std::string family, KernelCall call) {
  ModelledWork made{std::move(family), {std::move(call)}, {}};
  for (const LaunchedKernel& kernel : op.kernels) {
    made.work.push_back(kernel.work);
  }
  return {std::move(made)};
}

/// `_tn_` in a name of cuBLAS, whose matrices are ours transposed: its first operand is our second.
void read_orientation(const std::string& kernel, Gemm& gemm) {
  for (const std::string_view mark : {"_nn", "_nt", "_tn", "_tt"}) {
    const std::size_t at = kernel.find(mark);
    const std::size_t end = at + mark.size();
    if (at != std::string::npos && (end == kernel.size() || kernel[end] == '_')) {
      gemm.transpose_b = mark[1] == 't';
      gemm.transpose_a = mark[2] == 't';
      return;
    }
  }
}

/// A product of arguments @p first and the one after it; kernels that copy a bias first are apart.
std::vector<ModelledWork> product(const OperatorLaunches& op, std::size_t first) {
  const Dims* a = op.called.tensor(first);
  const Dims* b = op.called.tensor(first + 1);
  auto type = op.called.type();
  const std::size_t rank = a == nullptr ? 0 : a->size();
  if (b == nullptr || !type || b->size() != rank || (rank != 2 && rank != 3) || a->back() != (*b)[rank - 2] ||
      (rank == 3 && a->front() != b->front())) {
    return {};
  }
  Gemm gemm{.batch = rank == 3 ? a->front() : 1, .m = (*a)[rank - 2], .n = b->back(), .k = a->back()};
  ModelledWork made{rank == 3 ? "batched matrix product" : "matrix product", {}, {}};
  std::vector<ModelledWork> all;
  for (const LaunchedKernel& kernel : op.kernels) {
    if (contains(kernel.name, "elementwise_kernel")) {
      const std::int64_t elements = gemm.batch * gemm.m * gemm.n;
      all.push_back(
          {"element-wise", {kernels::by_offsets("bias", elements, *type, {.reads = 0})}, {kernel.work}});
      continue;
    }
    read_orientation(kernel.name, gemm);
    type = multiplied_as(*type, kernel.name);
    made.work.push_back(kernel.work);
  }
  made.calls.push_back({"gemm", *type, gemm});
  all.push_back(std::move(made));
  return all;
}

std::vector<ModelledWork> plain_product(const OperatorLaunches& op, const ConvolutionOutputs& /*outputs*/) {
  return product(op, 0);
}
std::vector<ModelledWork> added_product(const OperatorLaunches& op, const ConvolutionOutputs& /*outputs*/) {
  return product(op, 1);
}

/// Dimensions that are summed: said by the argument, or certain from the kernel. reduce_kernel<128, 4, ...>
/// gives four outputs side by side, which it does only where the sum is across rows
/// (ATen/native/cuda/Reduce.cuh, output_vec_size).
std::optional<Reduction> reduction_of(const OperatorLaunches& op, const Dims& dims) {
  const Dims said = op.called.numbers(1);
  if (dims.size() == 1 || op.called.arguments.size() == 1) {
    return Reduction{.rows = 1, .columns = count(dims)};
  }
  const bool across = contains(op.kernels.front().name, "reduce_kernel<128, 4,");
  if (said.empty() && (!across || dims.size() != 2)) {
    return std::nullopt;
  }
  std::vector<bool> is_summed(dims.size(), false);
  for (const std::int64_t dim : said.empty() ? Dims{0} : said) {
    const std::int64_t index = dim < 0 ? dim + static_cast<std::int64_t>(dims.size()) : dim;
    if (index < 0 || index >= static_cast<std::int64_t>(dims.size())) {
      return std::nullopt;
    }
    is_summed[static_cast<std::size_t>(index)] = true;
  }
  Reduction made{.rows = 1, .columns = 1};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    (is_summed[i] ? made.columns : made.rows) *= dims[i];
  }
  if (!is_summed.back()) {
    std::swap(made.rows, made.columns);
    made.across_rows = true;
  }
  return made;
}

std::vector<ModelledWork> sum(const OperatorLaunches& op, const ConvolutionOutputs& /*outputs*/) {
  const Dims* dims = op.called.tensor(0);
  const auto type = op.called.type();
  const auto work = dims != nullptr && type ? reduction_of(op, *dims) : std::nullopt;
  return work ? one_work(op, "reduction", {"reduction", *type, *work}) : std::vector<ModelledWork>{};
}

/// Softmax over the last dimension: host_softmax (ATen/native/cuda/SoftMax.cu) runs these kernels only then.
std::vector<ModelledWork> softmax(const OperatorLaunches& op, const ConvolutionOutputs& /*outputs*/) {
  const Dims* dims = op.called.tensor(0);
  const auto type = op.called.type();
  const std::string& kernel = op.kernels.front().name;
  if (dims == nullptr || dims->empty() || !type ||
      (!contains(kernel, "softmax_warp") && !contains(kernel, "cunn_SoftMax"))) {
    return {};
  }
  const bool backward = contains(op.called.name, "backward");
  const Softmax work{.rows = count(*dims) / std::max<std::int64_t>(dims->back(), 1),
                     .columns = dims->back(),
                     .direction = backward ? Direction::Backward : Direction::Forward,
                     .logarithm = contains(op.called.name, "log")};
  return one_work(op, "softmax", {"softmax", *type, work});
}

std::vector<ModelledWork> batch_norm(const OperatorLaunches& op, const ConvolutionOutputs& /*outputs*/) {
  const Dims* dims = op.called.tensor(0);
  const auto type = op.called.type();
  if (dims == nullptr || dims->size() < 2 || !type) {
    return {};
  }
  const bool backward = contains(op.called.name, "backward");
  const BatchNorm work{.batch = dims->front(),
                       .channels = (*dims)[1],
                       .pixels = count(Dims(dims->begin() + 2, dims->end())),
                       .direction = backward ? Direction::Backward : Direction::Forward};
  return one_work(op, backward ? "batch norm backward" : "batch norm forward", {"batch_norm", *type, work});
}

/// [rows..., columns] of argument 0; argument 1 (forward) or 2 (backward) are the normalised sizes.
std::vector<ModelledWork> layer_norm(const OperatorLaunches& op, const ConvolutionOutputs& /*outputs*/) {
  const bool backward = contains(op.called.name, "backward");
  const Dims* dims = op.called.tensor(0);
  const auto type = op.called.type();
  const Dims normalised = op.called.numbers(backward ? 2 : 1);
  if (dims == nullptr || !type || normalised.empty() || count(normalised) < 1) {
    return {};
  }
  LayerNorm work{.rows = count(*dims) / count(normalised), .columns = count(normalised)};
  if (!backward) {
    return one_work(op, "layer norm", {"layer_norm", *type, work});
  }
  ModelledWork input{"layer norm", {}, {}};
  ModelledWork parameters{"layer norm", {}, {}};
  for (const LaunchedKernel& kernel : op.kernels) {
    (contains(kernel.name, "GammaBeta") ? parameters : input).work.push_back(kernel.work);
  }
  work.part = LayerNorm::Part::InputGradient;
  input.calls.push_back({"layer_norm", *type, work});
  work.part = LayerNorm::Part::ParameterGradient;
  parameters.calls.push_back({"layer_norm", *type, work});
  return {input, parameters};
}

/// Rows of a table [rows, columns]: embedding(table, indices), index_select(table, 0, indices).
std::vector<ModelledWork> picked_rows(const OperatorLaunches& op, const ConvolutionOutputs& /*outputs*/) {
  const bool select = op.called.name == "aten::index_select";
  const Dims* table = op.called.tensor(0);
  const Dims* indices = op.called.tensor(select ? 2 : 1);
  const auto type = op.called.type();
  if (table == nullptr || indices == nullptr || table->size() != 2 || !type ||
      (select && op.called.numbers(1) != Dims{0})) {
    return {};
  }
  const IndexSelect work{.table_rows = table->front(), .picks = count(*indices), .columns = table->back()};
  return one_work(op, "rows by index", {"index_select", *type, work});
}

std::vector<ModelledWork> bags(const OperatorLaunches& op, const ConvolutionOutputs& /*outputs*/) {
  return embedding_bag_forward(op);
}

/// The type that CatArrayBatchedCopy<float, ...> copies: lists of tensors are recorded without it.
std::optional<DataType> copied_type(const std::string& kernel) {
  const std::size_t begin = kernel.find("CatArrayBatchedCopy");
  const std::size_t open = begin == std::string::npos ? begin : kernel.find('<', begin);
  const std::size_t end = open == std::string::npos ? open : kernel.find(',', open);
  return end == std::string::npos ? std::nullopt : data_type_of(kernel.substr(open + 1, end - open - 1));
}

std::vector<ModelledWork> concatenation(const OperatorLaunches& op, const ConvolutionOutputs& /*outputs*/) {
  const OperatorArgument* list = op.called.arguments.empty() ? nullptr : &op.called.arguments.front();
  const auto type = copied_type(op.kernels.front().name);
  if (list == nullptr || list->shapes.empty() || !type) {
    return {};
  }
  double elements = 0;
  for (const Dims& piece : list->shapes) {
    elements += elements_of(piece);
  }
  const Concat work{.elements = static_cast<std::int64_t>(elements),
                    .pieces = static_cast<std::int64_t>(list->shapes.size())};
  return one_work(op, "concatenation", {"concat", *type, work});
}

using Reading = std::vector<ModelledWork> (*)(const OperatorLaunches&, const ConvolutionOutputs&);

/// Readings by name of the operator; element-wise operators have a table of their own.
const std::map<std::string_view, Reading>& readings() {
  static const std::map<std::string_view, Reading> kReadings{
      {"aten::mm", plain_product},
      {"aten::bmm", plain_product},
      {"aten::addmm", added_product},
      {"aten::baddbmm", added_product},
      {"aten::cudnn_convolution", convolution_work},
      {"aten::cudnn_convolution_add_relu", convolution_work},
      {"aten::cudnn_convolution_backward_input", convolution_work},
      {"aten::cudnn_convolution_backward_weight", convolution_work},
      {"aten::convolution_backward", convolution_work},
      {"aten::cudnn_batch_norm", batch_norm},
      {"aten::cudnn_batch_norm_backward", batch_norm},
      {"aten::native_batch_norm", batch_norm},
      {"aten::native_batch_norm_backward", batch_norm},
      {"aten::native_layer_norm", layer_norm},
      {"aten::native_layer_norm_backward", layer_norm},
      {"aten::_softmax", softmax},
      {"aten::_log_softmax", softmax},
      {"aten::_softmax_backward_data", softmax},
      {"aten::_log_softmax_backward_data", softmax},
      {"aten::sum", sum},
      {"aten::mean", sum},
      {"aten::embedding", picked_rows},
      {"aten::index_select", picked_rows},
      {"aten::_embedding_bag", bags},
      {"aten::cat", concatenation},
  };
  return kReadings;
}

}  // namespace

std::vector<ModelledWork> modelled_work(const OperatorLaunches& op, const ConvolutionOutputs& outputs) {
  if (op.kernels.empty()) {
    return {};
  }
  const auto reading = readings().find(op.called.name);
  std::vector<ModelledWork> made;
  if (reading != readings().end()) {
    made = reading->second(op, outputs);
  } else if (contains(op.called.name, "embedding_codegen_lookup_")) {
    made = embedding_forward(op);
  } else if (contains(op.called.name, "SplitLookupFunction_")) {
    made = embedding_backward(op);
  } else {
    made = pointwise_work(op);
  }
  std::erase_if(made, [](const ModelledWork& work) { return work.work.empty(); });
  return made;
}

}  // namespace lockstep::replay
