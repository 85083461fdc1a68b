#pragma once

#include <bit>
#include <compare>
#include <cstdint>

namespace lockstep {

/// A 128-bit digest of a sequence or of a multiset, to tell contents apart; not against malice.
/// Mixing is that of splitmix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
/// generators", 2014), with other constants for the second half.
class Digest {
 public:
  /// The next of a sequence.
  Digest& append(std::uint64_t value) {
    low_ = mix(low_ + 0x9e3779b97f4a7c15ULL + mix(value + 0x632be59bd9b4e019ULL));
    high_ = mix(high_ * 0xff51afd7ed558ccdULL + mix(value ^ 0xd1b54a32d192ed03ULL));
    return *this;
  }
  Digest& append(double value) { return append(std::bit_cast<std::uint64_t>(value)); }
  Digest& append(const Digest& other) { return append(other.low_).append(other.high_); }

  /// One more of a multiset; @p element has been appended to.
  Digest& add(const Digest& element) {
    low_ += element.low_;
    high_ += element.high_;
    return *this;
  }

  auto operator<=>(const Digest&) const = default;
  [[nodiscard]] std::uint64_t hash() const { return low_; }

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31U);
  }
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
};

}  // namespace lockstep
