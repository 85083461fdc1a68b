#pragma once

#include <span>
#include <string_view>

#include "import/draft.hpp"
#include "import/settings.hpp"

namespace lockstep::importing {

/// Kinds of meaning that a key of a framework has.
enum class Meaning : std::uint8_t {
  Number,       ///< the whole number is the key's value
  Switch,       ///< turned on, the key is true
  Against,      ///< turned on, the key is false
  NoEffect,     ///< nothing for the time of a step; a name that ends in `*` stands for all that begin so
  NotModelled,  ///< something that Lockstep has not; where it is turned on
};

struct Word {
  std::string_view key;
  Meaning meaning = Meaning::NoEffect;
  std::string_view text = {};  ///< the scenario's key (whole_path()), or why it is not modelled
};

/// Sets the keys that words stand for, and remarks what is left of the settings.
void apply(std::span<const Word> words, Settings& settings, Draft& draft);

}  // namespace lockstep::importing
