#include "traces/pytorch_et/node_parser.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>

namespace lockstep::pytorch_et {
namespace {

namespace json = simdjson::ondemand;
using simdjson::error_code;
using simdjson::SUCCESS;

// Members of flat nodes that are attributes in nested ones.
constexpr std::array<std::string_view, 7> kFlatAttributes{"rf_id", "fw_parent", "seq_id",   "scope",
                                                          "tid",   "fw_tid",    "op_schema"};

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') {
    text.remove_suffix(1);
  }
  return text;
}

/// Any value as it is written; of a string its contents.
error_code take_written(json::value& value, std::string& text) {
  json::json_type type{};
  std::string_view raw;
  if (const error_code error = value.type().get(type)) {
    text = without_blanks(value.raw_json_token());  // inf, nan
    return text == "inf" || text == "nan" ? SUCCESS : error;
  }
  error_code error = SUCCESS;
  if (type == json::json_type::array) {
    json::array list;
    error = value.get_array().get(list);
    error = error ? error : list.raw_json().get(raw);
  } else if (type == json::json_type::object) {
    json::object object;
    error = value.get_object().get(object);
    error = error ? error : object.raw_json().get(raw);
  } else if (type == json::json_type::string) {
    error = value.get_string().get(raw);
  } else {
    raw = without_blanks(value.raw_json_token());
  }
  text.assign(raw);
  return error;
}

/// inputs or outputs: `{"values": .., "shapes": .., "types": ..}`, or the values alone.
error_code take_arguments(json::value& value, ArgumentTexts& texts) {
  json::json_type type{};
  if (const error_code error = value.type().get(type)) {
    return error;
  }
  if (type != json::json_type::object) {
    return take_written(value, texts.values);
  }
  json::object object;
  if (const error_code error = value.get_object().get(object)) {
    return error;
  }
  for (auto field : object) {
    std::string_view key;
    json::value member;
    if (const error_code error = field.unescaped_key().get(key)) return error;
    if (const error_code error = field.value().get(member)) return error;
    std::string passed_over;
    std::string& text = key == "values"    ? texts.values
                        : key == "shapes"  ? texts.shapes
                        : key == "types"   ? texts.types
                        : key == "strides" ? texts.strides
                                           : passed_over;
    if (const error_code error = take_written(member, text)) return error;
  }
  return SUCCESS;
}

/// `attrs`: a list of `{"name": "rf_id", "type": "uint64", "value": 0}`.
error_code take_attributes(json::value& value, WrittenNode& node) {
  json::array list;
  if (const error_code error = value.get_array().get(list)) {
    return error;
  }
  for (auto element : list) {
    json::object attribute;
    if (const error_code error = element.get_object().get(attribute)) return error;
    std::string name;
    std::string text;
    for (auto field : attribute) {
      std::string_view key;
      json::value member;
      std::string passed_over;
      if (const error_code error = field.unescaped_key().get(key)) return error;
      if (const error_code error = field.value().get(member)) return error;
      std::string& target = key == "name" ? name : key == "value" ? text : passed_over;
      if (const error_code error = take_written(member, target)) return error;
    }
    node.attributes[name] = text;
  }
  return SUCCESS;
}

std::string* text_member(WrittenNode& node, std::string_view key) {
  return key == "id"                             ? &node.id
         : key == "name"                         ? &node.name
         : key == "parent" || key == "ctrl_deps" ? &node.parent
         : key == "input_shapes"                 ? &node.inputs.shapes
         : key == "input_types"                  ? &node.inputs.types
         : key == "input_strides"                ? &node.inputs.strides
         : key == "output_shapes"                ? &node.outputs.shapes
         : key == "output_types"                 ? &node.outputs.types
         : key == "output_strides"               ? &node.outputs.strides
                                                 : nullptr;
}

error_code take_node_member(std::string_view key, json::value& value, WrittenNode& node) {
  if (key == "inputs" || key == "outputs") {
    return take_arguments(value, key == "inputs" ? node.inputs : node.outputs);
  }
  if (key == "attrs") {
    return take_attributes(value, node);
  }
  if (std::string* const member = text_member(node, key)) {
    return take_written(value, *member);
  }
  if (std::ranges::find(kFlatAttributes, key) != kFlatAttributes.end()) {
    return take_written(value, node.attributes[std::string{key}]);
  }
  node.unknown.emplace_back(key);
  return SUCCESS;
}

}  // namespace

std::int64_t WrittenNode::number(std::string_view attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? -1 : whole_number(found->second).value_or(-1);
}

std::string WrittenNode::text(std::string_view attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? "" : found->second;
}

struct NodeParser::State {
  json::parser parser;
  WrittenNode node;
};

NodeParser::NodeParser() : state_{std::make_unique<State>()} {}
NodeParser::~NodeParser() = default;

const WrittenNode* NodeParser::parse(std::string& element) {
  element.reserve(element.size() + simdjson::SIMDJSON_PADDING);
  state_->node = WrittenNode{};
  json::document document;
  json::object object;
  if (state_->parser.iterate(element.data(), element.size(), element.capacity()).get(document) ||
      document.get_object().get(object)) {
    return nullptr;
  }
  for (auto field : object) {
    std::string_view key;
    json::value value;
    if (field.unescaped_key().get(key) || field.value().get(value) ||
        take_node_member(key, value, state_->node)) {
      return nullptr;
    }
  }
  return &state_->node;
}

}  // namespace lockstep::pytorch_et
