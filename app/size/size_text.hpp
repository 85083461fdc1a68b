#pragma once

/// @file
/// The answer of `lockstep size` for people, programs and pictures.

#include <string>

#include "search/sizing/size_search.hpp"

namespace lockstep {

/// The answer in a sentence or three: the size, its band and its ties.
[[nodiscard]] std::string size_sentence(const SizeAnswer& answer, const SizeQuestion& question,
                                        const std::string& scenario);

/// The sentence and a row for each size. @param scenario as the command line names it
[[nodiscard]] std::string size_text(const SizeAnswer& answer, const SizeQuestion& question,
                                    const std::string& scenario);

[[nodiscard]] std::string size_json(const SizeAnswer& answer, const SizeQuestion& question,
                                    const std::string& scenario);

/// Days of the training over GPUs, or tokens a second where none are given; a series for each number of NICs.
[[nodiscard]] std::string size_svg(const SizeAnswer& answer, const SizeQuestion& question);

/// Each size and why it has no plan. @pre none has
[[nodiscard]] std::string no_size_text(const SizeAnswer& answer);

}  // namespace lockstep
