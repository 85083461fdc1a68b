#include "calibration/hosts/derived_host.hpp"

#include <fmt/format.h>

#include <array>

#include "base/yaml_text.hpp"

namespace lockstep {

std::string derived_host(const DerivedHost& words, const HostSpeed& speed, const HostOverheads& start) {
  constexpr double kMicro = 1e6;
  constexpr std::array kKeys{"speed",           "operators",         "between_operators",
                             "runtime_calls",   "backward_start",    "between_module_operators",
                             "backward_return", "synchronize_return"};
  const double slower = speed.native / speed.python;  // Python's part: 'speed' divides it, too
  const std::string rule = quoted_if_needed(fmt::format("{}'s; its speed: {}", start.name, words.basis));
  std::string text = fmt::format(
      "include: hosts/{}.yaml\nname: {}\nsource: {}\nspeed: {:.3g}\n"
      "between_operators: {:.3g} us  # at speed 1; Python's part is {:.3g} times as fast\n"
      "between_module_operators: {:.3g} us\nprovenance:\n",
      start.name, quoted_if_needed(words.name), quoted_if_needed(words.source), speed.native,
      kMicro * start.between_operators.in_base_units() * slower, speed.python,
      kMicro * start.between_modules().in_base_units() * slower);
  for (const char* key : kKeys) {
    text += fmt::format("  {}: {{ is: derived, source: {}, error: {:.3g}, machines: {:.3g} }}\n", key, rule,
                        speed.error, speed.machines);
  }
  return text;
}

}  // namespace lockstep
