#include "base/units.hpp"

#include <array>
#include <cmath>
#include <span>

namespace lockstep {
namespace {

struct Prefix {
  double factor;
  const char* symbol;
};

constexpr std::array<Prefix, 6> kLarge{
    {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1.0, ""}}};
/// No kiloseconds; and no millibytes, which would read like megabytes.
constexpr std::array<Prefix, 4> kSmall{{{1.0, ""}, {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}}};

std::string print(double value, std::span<const Prefix> prefixes, const char* unit) {
  for (const Prefix& prefix : prefixes) {
    if (std::abs(value) >= prefix.factor * (1 - 1e-9)) {
      return fmt::format("{:.4g} {}{}", value / prefix.factor, prefix.symbol, unit);
    }
  }
  return fmt::format("{:.4g} {}", value, unit);
}

}  // namespace

std::string to_string(Seconds t) {
  return print(t.in_base_units(), kSmall, "s");
}
std::string to_string(Bytes size) {
  return print(size.in_base_units(), kLarge, "B");
}
std::string to_string(Flops work) {
  return print(work.in_base_units(), kLarge, "FLOP");
}
std::string to_string(BytesPerSecond rate) {
  return print(rate.in_base_units(), kLarge, "B/s");
}
std::string to_string(FlopsPerSecond speed) {
  return print(speed.in_base_units(), kLarge, "FLOPS");
}

}  // namespace lockstep
