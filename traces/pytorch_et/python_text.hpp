#pragma once

#include <string>
#include <string_view>

namespace lockstep::pytorch_et {

/// JSON as Python prints the value: 'text', True, None. What is no JSON becomes a text.
[[nodiscard]] std::string python_text(std::string_view json);

/// A text as Python prints it, in single quotes.
[[nodiscard]] std::string python_quoted(std::string_view text);

}  // namespace lockstep::pytorch_et
