#pragma once

/// @file
/// Broken copies of a file, the same at every run: for readers that must answer each with a result or an
/// InputError, and never otherwise.

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace lockstep::testing {

class Mutations {
 public:
  Mutations(std::string_view sound, std::uint64_t seed) : sound_{sound}, random_{seed} {}

  /// One to four edits: a byte changed, a piece cut out, doubled or moved; one copy in four is cut off.
  std::string next() {
    std::string made = sound_;
    for (std::uint64_t edits = below(4) + 1; edits > 0 && made.size() > 1; --edits) {
      edit(made);
    }
    if (below(4) == 0) {
      made.resize(below(made.size() + 1));
    }
    return made;
  }

 private:
  // std::uniform_int_distribution differs from library to library.
  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void edit(std::string& text) {
    const std::size_t at = below(text.size());
    const std::size_t length = below(24) + 1;
    switch (below(5)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        return;
      case 1:
        text[at] = static_cast<char>(text[at] ^ static_cast<char>(1U << below(8)));
        return;
      case 2:
        text.erase(at, length);
        return;
      case 3:
        text.insert(below(text.size()), text.substr(at, length));
        return;
      default:
        text[at] = kTelling[below(kTelling.size())];
    }
  }

  static constexpr std::string_view kTelling = "{}[]\",:\\-9.eE n";  // characters that mean something in JSON
  std::string sound_;
  std::mt19937_64 random_;
};

}  // namespace lockstep::testing
