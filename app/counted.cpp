#include "app/counted.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace lockstep {

std::string counted(double value) {
  constexpr std::array<std::pair<double, const char*>, 4> kPrefixes{
      {{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e4, " k"}}};
  for (const auto& [from, name] : kPrefixes) {
    if (value >= from) {
      return fmt::format("{:.4g}{}", value / (from == 1e4 ? 1e3 : from), name);
    }
  }
  return fmt::format("{:.4g}", value);
}

}  // namespace lockstep
