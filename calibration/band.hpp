#pragma once

namespace lockstep {

/// A 90 % interval around a predicted time, relative to it: the measured one lies between 1 - faster and
/// 1 + slower times as long.
struct Band {
  double faster = 0;  ///< 0 to 1
  double slower = 0;  ///< 0 or more

  /// @param relative measured over predicted, less 1
  [[nodiscard]] bool holds(double relative) const { return relative >= -faster && relative <= slower; }

  friend bool operator==(const Band&, const Band&) = default;
};

/// The same distance on both sides.
[[nodiscard]] constexpr Band even_band(double half_width) {
  return {half_width, half_width};
}

}  // namespace lockstep
