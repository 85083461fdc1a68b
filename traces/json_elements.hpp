#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace lockstep {

/// Takes a large JSON text apart while it comes in: the elements of one array that is a member of the
/// outermost object (or is itself the outermost value), and the object's other members. Only the piece at
/// hand is in memory. It looks at brackets and strings only; whoever gets a piece parses it.
///
/// Some writers do not escape quotes in names. No string of JSON goes over the end of a line, so that one
/// which seems to do so had a quote too many: the element around it is handed out as it is, and is no JSON;
/// the next begins at the next line that begins with a brace.
class JsonElements {
 public:
  /// @p line: where the piece begins, counted from 1.
  using OnElement = std::function<void(std::string& element, std::uint64_t line)>;
  /// @p text is the member's value.
  using OnMember = std::function<void(std::string_view key, std::string& text, std::uint64_t line)>;

  /// @param array the key of the array
  /// @param file_name for messages
  JsonElements(std::string array, std::string file_name, OnElement on_element, OnMember on_member);

  /// @throws InputError where the text cannot be JSON
  void feed(std::string_view text);
  /// @throws InputError when the text is not over
  void finish() const;
  /// Whether the array was there.
  [[nodiscard]] bool found_array() const { return found_array_; }

 private:
  enum class State : std::uint8_t { Start, BeforeKey, Key, Colon, Value, Elements, Done };

  std::size_t skip(std::string_view text, std::size_t at);
  std::size_t read_key(std::string_view text, std::size_t at);
  std::size_t read_piece(std::string_view text, std::size_t at);
  void structure(char c);
  void before_value(char c);
  void end_piece();
  [[nodiscard]] bool piece_ends_before(char c) const;
  void end_line();
  [[nodiscard]] bool begins_anew(char c);
  [[noreturn]] void fail(const std::string& message) const;

  std::string array_, file_name_;
  OnElement on_element_;
  OnMember on_member_;
  std::string key_, piece_;
  std::uint64_t line_ = 1, piece_line_ = 1;
  State state_ = State::Start;
  int depth_ = 0;               // within the piece
  int depth_at_line_ = 0;       // likewise, where the line begins
  std::uint64_t elements_ = 0;  // so far
  bool has_odd_quote_ = false;  // on the line before: nothing but space has come since
  bool had_odd_quote_ = false;  // of the element before, or this one
  bool is_lost_ = false;        // between elements, but brackets do not count until a line begins with one
  bool in_piece_ = false, in_string_ = false, escaped_ = false;
  bool in_array_ = false;      // the piece is an element
  bool array_is_all_ = false;  // the outermost value is the array
  bool found_array_ = false;
};

}  // namespace lockstep
