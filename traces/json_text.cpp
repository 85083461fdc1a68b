#include "traces/json_text.hpp"

#include <fmt/format.h>

#include <iterator>

#include "base/utf8.hpp"

namespace lockstep {

std::string json_string(std::string_view text) {
  if (first_byte_outside_utf8(text)) {
    return json_string(made_utf8(text));
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(quoted), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  quoted += '"';
  return quoted;
}

}  // namespace lockstep
