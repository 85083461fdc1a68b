#include "traces/replay/operator_arguments.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace lockstep::replay {
namespace {

using nlohmann::json;

/// An empty list where @p text is none.
json list_of(const std::string& text) {
  json list = text.empty() ? json::array() : json::parse(text, nullptr, false);
  return list.is_array() ? list : json::array();
}

/// None where @p list has anything but whole numbers.
std::optional<Dims> whole_numbers(const json& list) {
  Dims dims;
  for (const json& item : list) {
    if (!item.is_number_integer()) {
      return std::nullopt;
    }
    dims.push_back(item.get<std::int64_t>());
  }
  return dims;
}

std::string text_at(const json& list, std::size_t index) {
  return index < list.size() && list[index].is_string() ? list[index].get<std::string>() : "";
}

/// Types that PyTorch gives to tensors, and of no kernel model; Scalar, Int, ... are no tensors.
bool is_other_tensor(const std::string& type) {
  return type == "double" || type == "short int" || type == "signed char";
}

OperatorArgument argument_of(const json& dims, const std::string& type, const std::string& value) {
  OperatorArgument made{type, {}, {}, value};
  if (!dims.is_array()) {
    return made;
  }
  if (data_type_of(type) || is_other_tensor(type)) {
    made.shape = whole_numbers(dims);
  } else if (type.starts_with("TensorList")) {
    for (const json& item : dims) {
      const auto shape = item.is_array() ? whole_numbers(item) : std::nullopt;
      if (!shape) {
        made.shapes.clear();
        break;
      }
      made.shapes.push_back(*shape);
    }
  }
  return made;
}

}  // namespace

double elements_of(const Dims& dims) {
  double elements = 1;
  for (const std::int64_t dim : dims) {
    elements *= static_cast<double>(dim);
  }
  return elements;
}

const Dims* OperatorArguments::tensor(std::size_t index) const {
  return index < arguments.size() && arguments[index].shape ? &*arguments[index].shape : nullptr;
}

Dims OperatorArguments::numbers(std::size_t index) const {
  if (index >= arguments.size() || arguments[index].value.empty()) {
    return {};
  }
  const json value = json::parse(arguments[index].value, nullptr, false);
  if (value.is_number_integer()) {
    return {value.get<std::int64_t>()};
  }
  return value.is_array() ? whole_numbers(value).value_or(Dims{}) : Dims{};
}

std::optional<DataType> OperatorArguments::type() const {
  const auto first = std::ranges::find_if(
      arguments, [](const OperatorArgument& argument) { return argument.shape.has_value(); });
  return first == arguments.end() ? std::nullopt : data_type_of(first->type);
}

std::optional<DataType> data_type_of(const std::string& name) {
  static const std::map<std::string, DataType> kTypes{
      {"float", DataType::FP32},          {"c10::Half", DataType::FP16}, {"c10::BFloat16", DataType::BF16},
      {"int", DataType::INT32},           {"long int", DataType::INT64}, {"long", DataType::INT64},
      {"unsigned char", DataType::UINT8}, {"bool", DataType::BOOL}};
  const auto found = kTypes.find(name);
  return found == kTypes.end() ? std::nullopt : std::optional{found->second};
}

OperatorArguments arguments_of(const kineto::RecordedTrace& trace, const kineto::Operator& op) {
  OperatorArguments made{trace.names.text(op.name), {}};
  const json dims = list_of(trace.names.text(op.input_dims));
  const json types = list_of(trace.names.text(op.input_types));
  const json values = list_of(trace.names.text(op.concrete_inputs));
  for (std::size_t i = 0; i < std::max(dims.size(), values.size()); ++i) {
    made.arguments.push_back(
        argument_of(i < dims.size() ? dims[i] : json{}, text_at(types, i), text_at(values, i)));
  }
  return made;
}

}  // namespace lockstep::replay
