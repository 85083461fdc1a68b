#include "traces/pytorch_et/argument_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace lockstep::pytorch_et {
namespace {

constexpr Oddity kBrokenArguments{"arguments that cannot be read",
                                  "values, shapes and types are no lists of lists, or of different lengths; "
                                  "the node is kept without them",
                                  Severity::Warning};
constexpr Oddity kNotATensor{"tensor without its numbers",
                             "its type says Tensor, its value is no [id, storage, offset, elements, bytes, "
                             "device]; kept as text"};

constexpr std::size_t kTensorNumbers = 5;  // and the device, since 2022
constexpr int kDeepestList = 8;            // of lists of tensors: PyTorch has lists of lists

std::string_view within(std::string_view type) {
  const std::size_t open = type.find('(');
  return open == std::string_view::npos || !type.ends_with(')')
             ? std::string_view{}
             : type.substr(open + 1, type.size() - open - 2);
}

}  // namespace

std::uint32_t ArgumentReader::read(const ArgumentTexts& texts, std::string_view node) {
  if (texts.values.empty()) {
    return 0;
  }
  constexpr std::string_view kNone = "[]";
  const std::string_view shape_text = texts.shapes.empty() ? kNone : std::string_view{texts.shapes};
  const std::string_view stride_text = texts.strides.empty() ? kNone : std::string_view{texts.strides};
  const bool is_readable = values_.parse(texts.values) && types_.parse(texts.types) &&
                           shapes_.parse(shape_text) && strides_.parse(stride_text);
  const auto values = is_readable ? values_.children(0) : std::vector<std::uint32_t>{};
  const auto types = is_readable ? types_.children(0) : std::vector<std::uint32_t>{};
  if (!is_readable || values.size() != types.size()) {
    trace_.report.add(kBrokenArguments, node);
    return 0;
  }
  const auto shapes = shapes_.children(0);
  const auto strides = strides_.children(0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string type = plain_text(types_.at(types[i]).text);
    Argument argument;
    argument.type = trace_.names.number(type);
    argument.first_tensor = static_cast<std::uint32_t>(trace_.tensors.size());
    if (type.find("Tensor(") != std::string::npos) {
      take(type,
           {values[i], i < shapes.size() ? std::int64_t{shapes[i]} : -1,
            i < strides.size() ? std::int64_t{strides[i]} : -1},
           0);
    }
    argument.tensors = static_cast<std::uint32_t>(trace_.tensors.size()) - argument.first_tensor;
    if (argument.tensors == 0) {
      argument.text = trace_.names.number(values_.at(values[i]).text);
    }
    trace_.arguments.push_back(argument);
  }
  return static_cast<std::uint32_t>(values.size());
}

void ArgumentReader::take(std::string_view type, const Place& place, int depth) {
  if (type.starts_with("Tensor(")) {
    take_tensor(type, place);
    return;
  }
  if (depth == kDeepestList || !values_.at(place.value).is_list) {
    return;
  }
  const std::vector<std::string_view> types = types_within(type);
  const std::vector<std::uint32_t> values = values_.children(place.value);
  const auto shapes = place.shape >= 0 ? shapes_.children(static_cast<std::uint32_t>(place.shape))
                                       : std::vector<std::uint32_t>{};
  const auto strides = place.strides >= 0 ? strides_.children(static_cast<std::uint32_t>(place.strides))
                                          : std::vector<std::uint32_t>{};
  for (std::size_t i = 0; i < std::min(types.size(), values.size()); ++i) {
    take(types[i],
         {values[i], i < shapes.size() ? std::int64_t{shapes[i]} : -1,
          i < strides.size() ? std::int64_t{strides[i]} : -1},
         depth + 1);
  }
}

void ArgumentReader::take_tensor(std::string_view type, const Place& place) {
  const NestedList::Item& value = values_.at(place.value);
  const auto parts = value.is_list ? values_.children(place.value) : std::vector<std::uint32_t>{};
  std::array<std::int64_t, kTensorNumbers> number{};
  bool is_whole = parts.size() >= kTensorNumbers;
  for (std::size_t i = 0; is_whole && i < kTensorNumbers; ++i) {
    const auto read = whole_number(values_.at(parts[i]).text);
    is_whole = read.has_value();
    number[i] = read.value_or(0);
  }
  if (!is_whole) {
    trace_.report.add(kNotATensor, value.text);
    return;
  }
  const std::vector<std::int64_t> shape = numbers(shapes_, place.shape);
  const std::vector<std::int64_t> strides = numbers(strides_, place.strides);
  TensorArgument tensor;
  tensor.id = number[0];
  tensor.storage = number[1];
  tensor.offset = number[2];
  tensor.elements = number[3];
  tensor.element_bytes = number[4];
  tensor.type = trace_.names.number(within(type));
  if (parts.size() > kTensorNumbers) {
    tensor.device = trace_.names.number(plain_text(values_.at(parts[kTensorNumbers]).text));
  }
  tensor.first_dimension = static_cast<std::uint32_t>(trace_.dimensions.size());
  tensor.rank = static_cast<std::uint16_t>(shape.size());
  tensor.has_strides = !strides.empty() && strides.size() == shape.size();
  trace_.dimensions.insert(trace_.dimensions.end(), shape.begin(), shape.end());
  if (tensor.has_strides) {
    trace_.dimensions.insert(trace_.dimensions.end(), strides.begin(), strides.end());
  }
  trace_.tensors.push_back(tensor);
}

/// The whole numbers of a list, as far as they are; never more than a rank can count.
std::vector<std::int64_t> ArgumentReader::numbers(const NestedList& list, std::int64_t item) {
  std::vector<std::int64_t> found;
  if (item < 0) {
    return found;
  }
  for (const std::uint32_t part : list.children(static_cast<std::uint32_t>(item))) {
    const auto number = whole_number(list.at(part).text);
    if (!number || found.size() == std::numeric_limits<std::uint16_t>::max()) {
      break;
    }
    found.push_back(*number);
  }
  return found;
}

}  // namespace lockstep::pytorch_et
