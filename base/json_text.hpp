#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// Just enough JSON to write a schema: a value is its text.
namespace json {

std::string text(const std::string& value);  ///< quoted and escaped
std::string list(const std::vector<std::string>& values);
std::string texts(const std::vector<std::string>& values);  ///< a list of texts

/// Members keep their order; two blanks a level when printed by indented().
std::string object(const std::vector<std::pair<std::string, std::string>>& members);

/// The same JSON over many lines.
std::string indented(const std::string& compact);

}  // namespace json
}  // namespace lockstep
