#pragma once

/// @file
/// Physical quantities: a double that cannot forget its dimension.
///
/// The simulator reasons about three base dimensions — simulated time, data and
/// arithmetic — and about their quotients. A quantity is stored in SI base units
/// (seconds, bytes, floating-point operations); a unit is only a way to write one
/// down or to print one. Decimal prefixes are powers of 1000 (kB, GB, Gbps), binary
/// prefixes powers of 1024 (KiB, GiB); a lower-case b is a bit, an upper-case B a byte.
///
///   Seconds t = 64_MiB / 400_Gbps;            // Bytes / BytesPerSecond
///   double us = t / 1_us;                     // leave the type system by dividing
///   auto bad  = 64_MiB + 3_us;                // does not compile

#include <fmt/format.h>

#include <compare>
#include <string>

namespace lockstep {

/// `value * s^Time * B^Data * flop^Work`. Trivially copyable; pass by value.
template <int Time, int Data, int Work>
class Quantity {
 public:
  constexpr Quantity() = default;

  /// Takes a number of SI base units; explicit, so that a bare number is never a quantity.
  constexpr explicit Quantity(double base_units) : value_{base_units} {}

  /// The number of SI base units. For boundaries only (SimGrid calls, serialisation);
  /// model code divides by a unit instead: `t / 1_us`.
  [[nodiscard]] constexpr double in_base_units() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(double k, Quantity q) { return Quantity{k * q.value_}; }
  friend constexpr Quantity operator*(Quantity q, double k) { return Quantity{k * q.value_}; }
  friend constexpr Quantity operator/(Quantity q, double k) { return Quantity{q.value_ / k}; }

  friend constexpr auto operator<=>(Quantity a, Quantity b) = default;

 private:
  double value_ = 0;
};

/// Exponents add; a product without dimension is a plain double.
template <int T1, int D1, int W1, int T2, int D2, int W2>
[[nodiscard]] constexpr auto operator*(Quantity<T1, D1, W1> a, Quantity<T2, D2, W2> b) {
  const double product = a.in_base_units() * b.in_base_units();
  if constexpr (T1 + T2 == 0 && D1 + D2 == 0 && W1 + W2 == 0) {
    return product;
  } else {
    return Quantity<T1 + T2, D1 + D2, W1 + W2>{product};
  }
}

/// Exponents subtract; a ratio of like quantities is a plain double.
template <int T1, int D1, int W1, int T2, int D2, int W2>
[[nodiscard]] constexpr auto operator/(Quantity<T1, D1, W1> a, Quantity<T2, D2, W2> b) {
  const double ratio = a.in_base_units() / b.in_base_units();
  if constexpr (T1 == T2 && D1 == D2 && W1 == W2) {
    return ratio;
  } else {
    return Quantity<T1 - T2, D1 - D2, W1 - W2>{ratio};
  }
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;  ///< exact up to 2^53 B = 9 PB
using Flops = Quantity<0, 0, 1>;  ///< an amount of work, not a speed
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;
using FlopsPerByte = Quantity<0, -1, 1>;  ///< arithmetic intensity

namespace literals {
// clang-format off
#define LOCKSTEP_UNIT(suffix, Type, factor)                                                            \
  constexpr Type operator""_##suffix(unsigned long long n) { return Type{static_cast<double>(n) * (factor)}; } \
  constexpr Type operator""_##suffix(long double x) { return Type{static_cast<double>(x) * (factor)}; }

LOCKSTEP_UNIT(s,  Seconds, 1.0)   LOCKSTEP_UNIT(ms, Seconds, 1e-3)
LOCKSTEP_UNIT(us, Seconds, 1e-6)  LOCKSTEP_UNIT(ns, Seconds, 1e-9)

LOCKSTEP_UNIT(B,   Bytes, 1.0)
LOCKSTEP_UNIT(kB,  Bytes, 1e3)    LOCKSTEP_UNIT(KiB, Bytes, 1024.0)
LOCKSTEP_UNIT(MB,  Bytes, 1e6)    LOCKSTEP_UNIT(MiB, Bytes, 1024.0 * 1024)
LOCKSTEP_UNIT(GB,  Bytes, 1e9)    LOCKSTEP_UNIT(GiB, Bytes, 1024.0 * 1024 * 1024)

LOCKSTEP_UNIT(GFLOP, Flops, 1e9)  LOCKSTEP_UNIT(TFLOP, Flops, 1e12)

LOCKSTEP_UNIT(Gbps, BytesPerSecond, 1e9 / 8)
LOCKSTEP_UNIT(GBps, BytesPerSecond, 1e9)  LOCKSTEP_UNIT(TBps, BytesPerSecond, 1e12)

LOCKSTEP_UNIT(TFLOPS, FlopsPerSecond, 1e12)
#undef LOCKSTEP_UNIT
// clang-format on
}  // namespace literals

/// Written with the prefix that leaves 1 to 999 before the point, four significant digits:
/// `12.3 us`, `3.35 TB/s`. Decimal prefixes; times from ns to s, the rest from
/// 1 to P. Parses back (base/parse_units) to within 1e-3.
std::string to_string(Seconds t);
std::string to_string(Bytes size);
std::string to_string(Flops work);
std::string to_string(BytesPerSecond rate);
std::string to_string(FlopsPerSecond speed);

}  // namespace lockstep

/// `fmt::format("{}", 25_us)` prints what to_string() does.
template <int T, int D, int W>
struct fmt::formatter<lockstep::Quantity<T, D, W>> : fmt::formatter<std::string> {
  auto format(lockstep::Quantity<T, D, W> q, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(to_string(q), context);
  }
};
