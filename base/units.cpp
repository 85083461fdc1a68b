#include "base/units.hpp"

#include <array>
#include <cmath>

namespace lockstep {
namespace {

struct Prefix {
  double factor;
  const char* symbol;
};

constexpr std::array<Prefix, 9> kPrefixes{{{1e15, "P"},
                                           {1e12, "T"},
                                           {1e9, "G"},
                                           {1e6, "M"},
                                           {1e3, "k"},
                                           {1.0, ""},
                                           {1e-3, "m"},
                                           {1e-6, "u"},
                                           {1e-9, "n"}}};

std::string print(double value, const char* unit) {
  for (const Prefix& prefix : kPrefixes) {
    if (std::abs(value) >= prefix.factor * (1 - 1e-9)) {
      return fmt::format("{:.4g} {}{}", value / prefix.factor, prefix.symbol, unit);
    }
  }
  return fmt::format("{:.4g} {}", value, unit);
}

}  // namespace

std::string to_string(Seconds t) {
  return print(t.in_base_units(), "s");
}
std::string to_string(Bytes size) {
  return print(size.in_base_units(), "B");
}
std::string to_string(Flops work) {
  return print(work.in_base_units(), "FLOP");
}
std::string to_string(BytesPerSecond rate) {
  return print(rate.in_base_units(), "B/s");
}
std::string to_string(FlopsPerSecond speed) {
  return print(speed.in_base_units(), "FLOPS");
}

}  // namespace lockstep
