#include "traces/json_elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "traces/event_place.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kLargestPiece = std::size_t{256} << 20U;

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// Characters of a piece that change what the next ones mean.
constexpr auto kSpecial = [] {
  std::array<bool, 256> special{};
  for (const char c : {'"', '\\', '{', '}', '[', ']', ',', '\n'}) {
    special[static_cast<unsigned char>(c)] = true;
  }
  return special;
}();

}  // namespace

JsonElements::JsonElements(std::string array, std::string file_name, OnElement on_element, OnMember on_member)
    : array_{std::move(array)},
      file_name_{std::move(file_name)},
      on_element_{std::move(on_element)},
      on_member_{std::move(on_member)} {}

void JsonElements::feed(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (in_piece_) {
      at = read_piece(text, at);
    } else if (state_ == State::Key) {
      at = read_key(text, at);
    } else {
      at = skip(text, at);
    }
  }
}

/// Space, or one character of the structure around the pieces.
std::size_t JsonElements::skip(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '\n') {
    ++line_;
  }
  is_lost_ = is_lost_ && c != '\n';
  if (is_space(c) || is_lost_) {
    return at + 1;
  }
  if (had_odd_quote_ && state_ == State::Elements && c != ',' && c != ']' && c != '{') {
    is_lost_ = true;  // what is left of the element with the odd quote
    return at + 1;
  }
  had_odd_quote_ = had_odd_quote_ && c == ',';
  if (state_ == State::Value || (state_ == State::Elements && c != ',' && c != ']')) {
    before_value(c);
    return in_piece_ ? at : at + 1;  // a piece holds its first character
  }
  structure(c);
  return at + 1;
}

void JsonElements::before_value(char c) {
  if (state_ == State::Value && key_ == array_ && c == '[') {
    state_ = State::Elements;
    found_array_ = true;
    return;
  }
  in_array_ = state_ == State::Elements;
  if (in_array_ && c != '{') {
    fail("an object is expected here: an element of \"" + array_ + "\"");
  }
  in_piece_ = true;
  piece_.clear();
  piece_line_ = line_;
  depth_ = depth_at_line_ = 0;
  elements_ += in_array_ ? 1 : 0;
}

void JsonElements::structure(char c) {
  switch (state_) {
    case State::Start:
      if (c == '{') {
        state_ = State::BeforeKey;
      } else if (c == '[') {
        state_ = State::Elements;
        array_is_all_ = found_array_ = true;
      } else {
        fail("not a JSON object or array");
      }
      return;
    case State::BeforeKey:
      if (c == '"') {
        state_ = State::Key;
        key_.clear();
      } else if (c == '}') {
        state_ = State::Done;
      } else if (c != ',') {
        fail("the name of a member is expected here");
      }
      return;
    case State::Colon:
      if (c != ':') {
        fail("a colon is expected here");
      }
      state_ = State::Value;
      return;
    case State::Elements:
      if (c == ']') {
        state_ = array_is_all_ ? State::Done : State::BeforeKey;
      }
      return;
    default:
      fail("more text after the end");
  }
}

std::size_t JsonElements::read_key(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' && !escaped_) {
      state_ = State::Colon;
      return at + 1;
    }
    escaped_ = c == '\\' && !escaped_;
    key_ += c;
  }
  return at;
}

/// An element with an odd number of quotes on a line: the string ends there.
void JsonElements::end_line() {
  if (in_string_ && in_array_) {
    in_string_ = false;
    has_odd_quote_ = had_odd_quote_ = true;
    depth_ = std::max(depth_at_line_, 1);  // what looked like brackets may have been text
  }
  escaped_ = false;
  depth_at_line_ = depth_;
}

/// Whether the character behind a line with an odd quote begins the next element, or ends the array.
bool JsonElements::begins_anew(char c) {
  return std::exchange(has_odd_quote_, false) && (c == '{' || c == ']' || (c == ',' && depth_ == 1));
}

/// A number or word ends where the structure around it goes on.
bool JsonElements::piece_ends_before(char c) const {
  return depth_ == 0 && !in_string_ && (c == ',' || c == '}' || c == ']');
}

std::size_t JsonElements::read_piece(std::string_view text, std::size_t at) {
  const std::size_t first = at;
  const auto take = [&](std::size_t last) {
    line_ += static_cast<std::uint64_t>(std::count(text.begin() + first, text.begin() + last, '\n'));
    piece_.append(text, first, last - first);
    if (piece_.size() > kLargestPiece) {
      fail("a value of more than 256 MiB");
    }
  };
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (has_odd_quote_ && !is_space(c) && begins_anew(c)) {
      take(at);
      end_piece();
      return at;
    }
    if (escaped_ && c != '\n') {
      escaped_ = false;
      continue;
    }
    if (!kSpecial[static_cast<unsigned char>(c)]) {
      continue;
    }
    if (c == '\n') {
      end_line();
      continue;
    }
    if (in_string_) {
      escaped_ = c == '\\';
      in_string_ = c != '"';
      continue;
    }
    if (piece_ends_before(c)) {
      take(at);
      end_piece();
      return at;
    }
    in_string_ = c == '"';
    depth_ += c == '{' || c == '[' ? 1 : 0;
    if (c == '}' || c == ']') {
      --depth_;
      if (depth_ == 0 && in_array_) {
        take(at + 1);
        end_piece();
        return at + 1;
      }
    }
  }
  take(text.size());
  return text.size();
}

void JsonElements::end_piece() {
  in_piece_ = false;
  if (in_array_) {
    on_element_(piece_, piece_line_);
    return;
  }
  while (!piece_.empty() && is_space(piece_.back())) {
    piece_.pop_back();
  }
  state_ = State::BeforeKey;
  on_member_(key_, piece_, piece_line_);
}

void JsonElements::finish() const {
  if (in_piece_ && in_array_ && elements_ > piece_line_) {  // several on a line, which says little
    constexpr std::size_t kShown = 60;
    throw event_error(
        file_name_, {piece_line_, elements_},
        fmt::format("this does not end: the file is cut off, or a quote in it is not escaped ({} ...)",
                    piece_.substr(0, kShown)));
  }
  if (state_ != State::Done) {
    fail(state_ == State::Start ? "the file is empty" : "the file is cut off: the JSON text ends too early");
  }
}

void JsonElements::fail(const std::string& message) const {
  throw InputError{{file_name_, static_cast<int>(line_)}, message};
}

}  // namespace lockstep
