#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

/// A named, seeded source of random numbers without state: what it gives depends on (seed, name, index) only,
/// never on the order of the questions, so a new consumer changes nobody else's numbers.
///
/// Source: SplitMix64, G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014, read at a given place of its sequence instead of one after the other.
class Random {
 public:
  Random(std::uint64_t seed, std::string_view name);

  /// The generator of one member of a family: of one rank, of one table.
  [[nodiscard]] Random of(std::uint64_t member) const { return Random{mixed(key_ ^ mixed(member + kGamma))}; }

  /// The same numbers from @p first on: its index 0 is our @p first.
  [[nodiscard]] Random from(std::uint64_t first) const { return Random{key_ + first * kGamma}; }

  /// 64 uniform bits.
  [[nodiscard]] std::uint64_t bits(std::uint64_t index) const { return mixed(key_ + (index + 1) * kGamma); }

  /// In [0, 1), a multiple of 2^-53.
  [[nodiscard]] double uniform(std::uint64_t index) const {
    return static_cast<double>(bits(index) >> 11U) * 0x1p-53;
  }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15U;  ///< odd, 2^64 over the golden ratio

  explicit Random(std::uint64_t key) : key_{key} {}

  /// The finaliser of SplitMix64 (D. Stafford's variant 13 of the one of MurmurHash3): a bijection.
  static constexpr std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  std::uint64_t key_;
};

}  // namespace lockstep
