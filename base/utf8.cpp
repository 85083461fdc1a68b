#include "base/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

constexpr unsigned kContinuationBits = 6;

/// A leading byte: how many continue it, and which code points they may make.
struct Lead {
  std::size_t continued;
  unsigned bits;   ///< of the code point, in the leading byte
  unsigned least;  ///< a smaller code point has a shorter form
};

std::optional<Lead> lead_of(unsigned char byte) {
  if (byte < 0x80U) return Lead{0, byte, 0};
  if (byte >= 0xc0U && byte < 0xe0U) return Lead{1, byte & 0x1fU, 0x80U};
  if (byte >= 0xe0U && byte < 0xf0U) return Lead{2, byte & 0x0fU, 0x800U};
  if (byte >= 0xf0U && byte < 0xf8U) return Lead{3, byte & 0x07U, 0x10000U};
  return std::nullopt;
}

bool is_character(unsigned code, unsigned least) {
  const bool is_surrogate = code >= 0xd800U && code < 0xe000U;
  return code >= least && code <= 0x10ffffU && !is_surrogate;
}

/// Bytes of the sequence that @p text begins with; 0 where it begins with none.
std::size_t sequence_length(std::string_view text) {
  const std::optional<Lead> lead = lead_of(static_cast<unsigned char>(text.front()));
  if (!lead || text.size() <= lead->continued) {
    return 0;
  }
  unsigned code = lead->bits;
  for (std::size_t i = 1; i <= lead->continued; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) != 0x80U) {
      return 0;
    }
    code = (code << kContinuationBits) | (byte & 0x3fU);
  }
  return is_character(code, lead->least) ? lead->continued + 1 : 0;
}

SourceLocation place_of(std::string_view text, std::size_t byte, const std::string& file) {
  const std::string_view before = text.substr(0, byte);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? byte + 1 : byte - newline;
  return {file, static_cast<int>(line), static_cast<int>(column)};
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20U && c != '\t' && c != '\n' && c != '\r') || byte == 0x7fU;
}

}  // namespace

std::optional<std::size_t> first_byte_outside_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return std::nullopt;
}

std::string made_utf8(std::string_view text) {
  std::string made;
  while (const std::optional<std::size_t> bad = first_byte_outside_utf8(text)) {
    made.append(text.substr(0, *bad)).append(kReplacement);
    text.remove_prefix(*bad + 1);
  }
  return made.append(text);
}

std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

void require_text(std::string_view text, const std::string& file) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    throw InputError{{file, 1, 1}, "this is UTF-16: save it as UTF-8"};
  }
  if (const std::optional<std::size_t> bad = first_byte_outside_utf8(text)) {
    throw InputError{place_of(text, *bad, file),
                     fmt::format("the byte 0x{:02x} is no UTF-8: save the file as UTF-8 (Latin-1 and Windows "
                                 "code pages are not read)",
                                 static_cast<unsigned char>(text[*bad]))};
  }
  if (const auto control = std::ranges::find_if(text, is_control); control != text.end()) {
    throw InputError{place_of(text, static_cast<std::size_t>(control - text.begin()), file),
                     *control == '\0'
                         ? "a NUL byte: this is no text file"
                         : fmt::format("the control character 0x{:02x} has no place in a text file",
                                       static_cast<unsigned char>(*control))};
  }
}

}  // namespace lockstep
