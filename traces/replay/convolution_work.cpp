#include "traces/replay/convolution_work.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace lockstep::replay {
namespace {

using Pass = Convolution::Pass;

constexpr std::string_view kToChannelsLast = "nchwToNhwc";
constexpr std::string_view kFromChannelsLast = "nhwcToNchw";

/// Tensors of a convolution: [images, channels, height, width], [outputs, inputs, height, width], and what
/// comes out.
struct Shapes {
  Dims input, filters, output;
};

bool contains(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

bool contains_any(const std::string& name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains(name, part); });
}

/// Smallest padding on both sides with which @p in pixels give @p out; none: there is none.
std::optional<std::int64_t> padding_of(std::int64_t in, std::int64_t out, std::int64_t filter,
                                       std::int64_t stride) {
  for (std::int64_t padding = 0; padding <= filter; ++padding) {
    const std::int64_t room = in + 2 * padding - filter;
    if (room >= 0 && room / stride + 1 == out) {
      return padding;
    }
  }
  return std::nullopt;
}

/// None where the shapes do not belong to a convolution of one group without dilation.
std::optional<Convolution> convolution_of(const Shapes& of) {
  constexpr std::size_t kRank = 4;
  if (of.input.size() != kRank || of.filters.size() != kRank || of.output.size() != kRank ||
      of.input[0] != of.output[0] || of.input[1] != of.filters[1] || of.output[1] != of.filters[0] ||
      of.output[2] < 1 || of.output[3] < 1) {
    return std::nullopt;
  }
  Convolution made{.batch = of.input[0],
                   .in_channels = of.input[1],
                   .out_channels = of.output[1],
                   .height = of.input[2],
                   .width = of.input[3],
                   .filter_height = of.filters[2],
                   .filter_width = of.filters[3]};
  made.stride = std::max<std::int64_t>(
      1, std::llround(static_cast<double>(made.height) / static_cast<double>(of.output[2])));
  const auto rows = padding_of(made.height, of.output[2], made.filter_height, made.stride);
  const auto columns = padding_of(made.width, of.output[3], made.filter_width, made.stride);
  if (!rows || !columns) {
    return std::nullopt;
  }
  made.padding_height = *rows;
  made.padding_width = *columns;
  return made;
}

/// A pass of a convolution and its kernels.
struct PassKernels {
  Pass pass = Pass::Forward;
  std::vector<const LaunchedKernel*> kernels;
};

Dims result_of(Pass pass, const Shapes& shapes) {
  return pass == Pass::Forward ? shapes.output : pass == Pass::DataGradient ? shapes.input : shapes.filters;
}

/// Shapes that a pass reads, the larger one first.
std::vector<Dims> operands_of(Pass pass, const Shapes& shapes) {
  std::vector<Dims> made{pass == Pass::Forward ? shapes.input : shapes.output,
                         pass == Pass::WeightGradient ? shapes.input : shapes.filters};
  std::ranges::sort(made, std::ranges::greater{}, elements_of);
  return made;
}

KernelCall layout_change(const Dims& dims, DataType type, bool to_channels_last) {
  Transpose work{.batch = dims[0], .rows = dims[1], .columns = dims[2] * dims[3]};
  if (!to_channels_last) {
    std::swap(work.rows, work.columns);
  }
  return {"layout", type, work};
}

/// Changes of layout of a pass, when it is certain which tensors they are of: two operands, one result.
void add_layout_changes(const PassKernels& pass, const Shapes& shapes, DataType type,
                        std::vector<ModelledWork>& made) {
  for (const bool to_channels_last : {true, false}) {
    std::vector<const LaunchedKernel*> changes;
    std::ranges::copy_if(pass.kernels, std::back_inserter(changes), [&](const LaunchedKernel* kernel) {
      return contains(kernel->name, to_channels_last ? kToChannelsLast : kFromChannelsLast);
    });
    const std::vector<Dims> tensors =
        to_channels_last ? operands_of(pass.pass, shapes) : std::vector<Dims>{result_of(pass.pass, shapes)};
    if (changes.size() != tensors.size()) {
      continue;
    }
    std::ranges::sort(changes, std::ranges::greater{}, &LaunchedKernel::seconds);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      made.push_back(
          {"change of layout", {layout_change(tensors[i], type, to_channels_last)}, {changes[i]->work}});
    }
  }
}

bool is_layout_change(const LaunchedKernel& kernel) {
  return contains(kernel.name, kToChannelsLast) || contains(kernel.name, kFromChannelsLast);
}

/// The pass that a kernel of a backward operator can only be of. *Source*: names of cuDNN 7 to 9: what is
/// strided and split along k sums over images, so it is the filters' gradient.
std::optional<Pass> pass_by_name(const std::string& name) {
  if (contains_any(name, {"wgrad", "Wgrad", "stridedB_splitK"})) {
    return Pass::WeightGradient;
  }
  if (contains_any(name, {"dgrad", "winogradForward", "scudnn_winograd", "stridedB"})) {
    return Pass::DataGradient;
  }
  return std::nullopt;
}

/// The input's gradient comes first (ATen/native/cudnn/ConvShared.cpp). What no name says belongs to the pass
/// before it, but what prepares the next one.
/// @return nothing where one of the two has no kernel of its own
std::vector<PassKernels> split_backward(const OperatorLaunches& op) {
  std::vector<PassKernels> passes{{Pass::DataGradient, {}}, {Pass::WeightGradient, {}}};
  const auto first_of = std::ranges::find_if(op.kernels, [](const LaunchedKernel& kernel) {
    return pass_by_name(kernel.name) == Pass::WeightGradient;
  });
  auto border = op.kernels.begin();
  for (auto kernel = op.kernels.begin(); kernel != first_of; ++kernel) {
    border = pass_by_name(kernel->name) == Pass::DataGradient ? kernel + 1 : border;
  }
  if (border == op.kernels.begin() || first_of == op.kernels.end()) {
    return {};
  }
  border = std::find_if(border, first_of, [](const LaunchedKernel& kernel) {
    return contains_any(kernel.name, {kToChannelsLast, "init_device_workspace"});
  });
  for (auto kernel = op.kernels.begin(); kernel != op.kernels.end(); ++kernel) {
    const bool is_late = kernel >= border;
    if (is_late && pass_by_name(kernel->name) == Pass::DataGradient) {
      return {};
    }
    passes[is_late ? 1 : 0].kernels.push_back(&*kernel);
  }
  return passes;
}

std::vector<const LaunchedKernel*> all_kernels(const OperatorLaunches& op) {
  std::vector<const LaunchedKernel*> all;
  for (const LaunchedKernel& kernel : op.kernels) {
    all.push_back(&kernel);
  }
  return all;
}

const char* family_of(Pass pass) {
  switch (pass) {
    case Pass::Forward:
      return "convolution forward";
    case Pass::DataGradient:
      return "convolution, gradient of input";
    case Pass::WeightGradient:
      return "convolution, gradient of filters";
  }
  return "";
}

/// The products of some passes as one work.
ModelledWork products_of(std::string family, const std::vector<Pass>& passes,
                         const std::vector<const LaunchedKernel*>& kernels, const Convolution& shape,
                         DataType type) {
  ModelledWork made{std::move(family), {}, {}};
  for (const LaunchedKernel* kernel : kernels) {
    if (!is_layout_change(*kernel)) {
      made.work.push_back(kernel->work);
      type = multiplied_as(type, kernel->name);
    }
  }
  for (const Pass pass : passes) {
    Convolution work = shape;
    work.pass = pass;
    work.channels_first = type == DataType::FP32;  // as it is multiplied: copies are counted by themselves
    made.calls.push_back({"convolution", type, work});
  }
  return made;
}

/// Places of the arguments, by operator; of two operators of 2021 their caller says it.
struct Call {
  const OperatorArguments* arguments = nullptr;
  std::size_t input = 0, filters = 1;
  std::optional<std::size_t> output;  ///< none: not among the arguments
  std::optional<std::size_t> dilation;
  std::vector<Pass> passes;
};

/// `[True, False, True]` of a profile or `[true,false,true]` of an execution trace, as the latter.
std::string flags_at(const OperatorArguments& op, std::size_t index) {
  std::string text;
  for (const char c : index < op.arguments.size() ? op.arguments[index].value : "") {
    if (c != ' ') {
      text += c == 'T' ? 't' : c == 'F' ? 'f' : c;
    }
  }
  return text;
}

/// All where the mask was not recorded.
std::vector<Pass> wanted_passes(const OperatorArguments& op) {
  constexpr std::size_t kOutputMask = 10;
  const std::string mask = flags_at(op, kOutputMask);
  std::vector<Pass> passes;
  if (!mask.starts_with("[false")) {
    passes.push_back(Pass::DataGradient);
  }
  if (!mask.starts_with("[true,false") && !mask.starts_with("[false,false")) {
    passes.push_back(Pass::WeightGradient);
  }
  return passes;
}

std::optional<Call> call_of(const OperatorLaunches& op) {
  const std::string& name = op.called.name;
  if (name == "aten::cudnn_convolution" || name == "aten::cudnn_convolution_add_relu") {
    return Call{
        &op.called,     0, 1, {}, name.ends_with("relu") ? std::nullopt : std::optional<std::size_t>{4},
        {Pass::Forward}};
  }
  if (name == "aten::convolution_backward") {
    return Call{&op.called, 1, 2, 0, 6, wanted_passes(op.called)};
  }
  const bool of_input = name == "aten::cudnn_convolution_backward_input";
  if ((of_input || name == "aten::cudnn_convolution_backward_weight") &&
      op.caller.name == "aten::cudnn_convolution_backward") {
    return Call{&op.caller, 0, 2, 1, {}, {of_input ? Pass::DataGradient : Pass::WeightGradient}};
  }
  return std::nullopt;
}

std::optional<Shapes> shapes_of(const Call& call, const ConvolutionOutputs& outputs) {
  const Dims* input = call.arguments->tensor(call.input);
  const Dims* filters = call.arguments->tensor(call.filters);
  if (input == nullptr || filters == nullptr) {
    return std::nullopt;
  }
  if (call.output) {
    const Dims* output = call.arguments->tensor(*call.output);
    return output == nullptr ? std::nullopt : std::optional{Shapes{*input, *filters, *output}};
  }
  const auto known = outputs.find({*input, *filters});
  return known == outputs.end() ? std::nullopt : std::optional{Shapes{*input, *filters, known->second}};
}

/// Dilated, or (argument 7 of a backward pass) transposed.
bool is_unusual(const Call& call) {
  constexpr std::size_t kTransposed = 7;
  if (call.passes.front() != Pass::Forward && flags_at(*call.arguments, kTransposed) == "true") {
    return true;
  }
  const Dims dilation = call.dilation ? call.arguments->numbers(*call.dilation) : Dims{};
  return std::ranges::any_of(dilation, [](std::int64_t step) { return step != 1; });
}

}  // namespace

DataType multiplied_as(DataType type, const std::string& kernel) {
  const bool on_tensor_cores = contains_any(kernel, {"tf32", "tensorop_s1688", "s1688gemm"});
  return type == DataType::FP32 && on_tensor_cores ? DataType::TF32 : type;
}

void note_output(const OperatorArguments& op, ConvolutionOutputs& outputs) {
  const bool is_new = op.name == "aten::convolution_backward";
  if (!is_new && op.name != "aten::cudnn_convolution_backward") {
    return;
  }
  const Dims* output = op.tensor(is_new ? 0 : 1);
  const Dims* input = op.tensor(is_new ? 1 : 0);
  const Dims* filters = op.tensor(2);
  if (output != nullptr && input != nullptr && filters != nullptr) {
    const auto [known, fresh] = outputs.try_emplace({*input, *filters}, *output);
    if (!fresh && known->second != *output) {
      known->second.clear();
    }
  }
}

std::vector<ModelledWork> convolution_work(const OperatorLaunches& op, const ConvolutionOutputs& outputs) {
  const std::optional<Call> call = call_of(op);
  const std::optional<Shapes> shapes = call ? shapes_of(*call, outputs) : std::nullopt;
  const std::optional<Convolution> shape = shapes ? convolution_of(*shapes) : std::nullopt;
  const std::optional<DataType> type = call ? call->arguments->type() : std::nullopt;
  if (!shape || !type || op.kernels.empty() || call->passes.empty() || is_unusual(*call)) {
    return {};
  }
  std::vector<PassKernels> passes;
  if (call->passes.size() == 1) {
    passes = {{call->passes.front(), all_kernels(op)}};
  } else if (call->passes.size() == 2) {
    passes = split_backward(op);
  }
  std::vector<ModelledWork> made;
  for (const PassKernels& pass : passes) {
    made.push_back(products_of(family_of(pass.pass), {pass.pass}, pass.kernels, *shape, *type));
    add_layout_changes(pass, *shapes, *type, made);
  }
  if (passes.empty()) {
    made.push_back(products_of("convolution backward", call->passes, all_kernels(op), *shape, *type));
  }
  return made;
}

}  // namespace lockstep::replay
