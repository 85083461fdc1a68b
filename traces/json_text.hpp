#pragma once

/// @file
/// JSON written by hand, because a timeline is millions of lines of a few fixed shapes.

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace lockstep {

/// Longest decimal that JsonCursor writes (20 digits of a 64-bit number, a point, a sign).
inline constexpr std::size_t kMostDigits = 24;

/// @p text with quotes around it and its quotes, backslashes and control characters escaped (RFC 8259, 7).
[[nodiscard]] std::string json_string(std::string_view text);

/// A place in a block of memory that moves on as text is written. The caller has made sure that what it
/// writes fits.
class JsonCursor {
 public:
  explicit JsonCursor(char* at) : at_{at} {}

  JsonCursor& text(std::string_view piece) {
    std::memcpy(at_, piece.data(), piece.size());
    at_ += piece.size();
    return *this;
  }

  JsonCursor& number(std::uint64_t value) {
    at_ = std::to_chars(at_, at_ + kMostDigits, value).ptr;
    return *this;
  }

  /// Microseconds with three decimals: the unit of `ts` and `dur`, exact to the nanosecond.
  /// @param nanoseconds >= 0
  JsonCursor& microseconds(std::int64_t nanoseconds) {
    const auto whole = static_cast<std::uint64_t>(nanoseconds) / 1000;
    const auto rest = static_cast<std::uint64_t>(nanoseconds) % 1000;
    number(whole);
    at_[0] = '.';
    at_[1] = static_cast<char>('0' + rest / 100);
    at_[2] = static_cast<char>('0' + rest / 10 % 10);
    at_[3] = static_cast<char>('0' + rest % 10);
    at_ += 4;
    return *this;
  }

  [[nodiscard]] char* at() const { return at_; }

 private:
  char* at_;
};

}  // namespace lockstep
