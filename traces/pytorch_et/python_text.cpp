#include "traces/pytorch_et/python_text.hpp"

#include <nlohmann/json.hpp>

namespace lockstep::pytorch_et {
namespace {

std::string printed(const nlohmann::json& value) {
  if (value.is_string()) {
    return python_quoted(value.get_ref<const std::string&>());
  }
  if (value.is_boolean()) {
    return value.get<bool>() ? "True" : "False";
  }
  if (value.is_null()) {
    return "None";
  }
  if (!value.is_structured()) {
    return value.dump();
  }
  std::string text;
  for (const auto& [key, entry] : value.items()) {
    text += text.empty() ? "" : ", ";
    text += value.is_object() ? python_quoted(key) + ": " + printed(entry) : printed(entry);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace

std::string python_quoted(std::string_view text) {
  std::string made = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      made += '\\';
    }
    made += c;
  }
  return made + "'";
}

std::string python_text(std::string_view json) {
  const auto value = nlohmann::json::parse(json, nullptr, false);
  return value.is_discarded() ? python_quoted(json) : printed(value);
}

}  // namespace lockstep::pytorch_et
