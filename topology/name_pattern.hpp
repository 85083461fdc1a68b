#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// True when @p pattern stands for @p name: `*` is any text, `?` any one character.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view name);

/// The places in @p names that a list of words names, word by word, each in the order of @p names:
///   gpu0            that one
///   gpu*  nic?      all that match
///   gpu2..5         gpu2 gpu3 gpu4 gpu5
/// @throws std::invalid_argument when a word names nothing, with the name that was meant
[[nodiscard]] std::vector<std::size_t> places_of(const std::string& words,
                                                 const std::vector<std::string>& names);

}  // namespace lockstep
