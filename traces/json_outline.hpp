#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// The outermost level of a JSON file: for messages about files of an unknown kind.
struct JsonOutline {
  struct Member {
    std::string key;
    std::string kind;  ///< "a list", "an object", "a text", "a number", "a word"
    int line = 1;
  };
  bool is_list = false;
  std::size_t elements = 0;     ///< of a list
  std::vector<Member> members;  ///< of the object, or of the first one of a list
};

/// Whether a file (gzip or not) begins as a JSON object or list of objects does. Also an empty file, whose
/// readers have more to say. @throws InputError when it cannot be read
[[nodiscard]] bool begins_as_json(const std::string& file_name);

/// The first characters of a file, for messages; what cannot be printed is a point.
[[nodiscard]] std::string beginning_of(const std::string& file_name);

/// @throws InputError for what is no JSON object or list of objects
[[nodiscard]] JsonOutline outline_of(const std::string& file_name);

/// `an object with "spans" (a list, line 1) and "name" (a text, line 1)`.
[[nodiscard]] std::string to_text(const JsonOutline& outline);

}  // namespace lockstep
