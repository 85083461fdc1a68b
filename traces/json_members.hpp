#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

namespace lockstep {

/// Calls @p take with the name and the value of each member of a JSON object; @p take returns an error, or
/// SUCCESS. Values are read where they stand.
/// @param element the object as written; gets the room behind its text that the parser reads ahead
/// @return whether it is an object, well-formed, whose members were all taken
template <class Take>
bool take_members(simdjson::ondemand::parser& parser, std::string& element, Take take) {
  element.reserve(element.size() + simdjson::SIMDJSON_PADDING);
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (parser.iterate(element.data(), element.size(), element.capacity()).get(document) ||
      document.get_object().get(object)) {
    return false;
  }
  for (auto field : object) {
    std::string_view key;
    simdjson::ondemand::value value;
    if (field.unescaped_key().get(key) || field.value().get(value) || take(key, value)) {
      return false;
    }
  }
  return true;
}

}  // namespace lockstep
