#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// True when @p pattern stands for @p name: `*` is any text, `?` any one character.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view name);

/// Names in an order, found by word.
class NamedPlaces {
 public:
  explicit NamedPlaces(std::vector<std::string> names);

  /// The places that a list of words names, word by word, each in the order of the names:
  ///   gpu0            that one
  ///   gpu*  nic?      all that match
  ///   gpu2..5         gpu2 gpu3 gpu4 gpu5
  /// @throws std::invalid_argument when a word names nothing, with the name that was meant
  [[nodiscard]] std::vector<std::size_t> of(const std::string& words) const;

  [[nodiscard]] const std::string& name(std::size_t place) const { return names_[place]; }

 private:
  void append(const std::string& word, std::vector<std::size_t>& places) const;

  std::vector<std::string> names_;
  std::vector<std::size_t> sorted_;  ///< places by name, those of one name in their order
};

}  // namespace lockstep
