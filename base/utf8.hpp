#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// Position of the first byte that is no part of a UTF-8 sequence (RFC 3629: neither overlong forms nor
/// surrogates, at most U+10FFFF); std::nullopt: all of @p text is UTF-8.
[[nodiscard]] std::optional<std::size_t> first_byte_outside_utf8(std::string_view text);

/// @p text with U+FFFD in place of each byte that is no part of a UTF-8 sequence.
[[nodiscard]] std::string made_utf8(std::string_view text);

/// @p text without the byte-order mark that some editors write before UTF-8.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);

/// Before a file is read as text: @throws InputError with line and column for bytes that are no UTF-8, for
/// UTF-16 and for control characters, which no text file has
void require_text(std::string_view text, const std::string& file);

}  // namespace lockstep
