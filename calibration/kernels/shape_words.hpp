#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace lockstep {

/// A whole text as a finite number. std::nullopt when it is none
[[nodiscard]] std::optional<double> number_in(std::string_view text);

/// The number as a count of elements: whole, a trillion at most.
[[nodiscard]] std::optional<std::int64_t> count_in(std::string_view text);

/// The key=value words of a cell. @throws std::invalid_argument
[[nodiscard]] std::map<std::string, std::string> shape_words(const std::string& cell);

/// The words of one shape, by key, and which of them were asked for. All complaints are
/// std::invalid_argument.
class ShapeWords {
 public:
  explicit ShapeWords(std::map<std::string, std::string> values) : values_{std::move(values)} {}

  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  [[nodiscard]] const std::string& text(const std::string& key) const;
  [[nodiscard]] double number(const std::string& key, double least) const;
  [[nodiscard]] bool flag(const std::string& key) const;  ///< 0 or 1
  [[nodiscard]] std::int64_t whole(const std::string& key, std::int64_t least = 1) const;
  /// Complains of a word that nobody asked for.
  void finish() const;
  [[noreturn]] static void complain(const std::string& what);

 private:
  std::map<std::string, std::string> values_;
  mutable std::set<std::string> asked_;
};

}  // namespace lockstep
