#pragma once

#include <array>
#include <string_view>

namespace lockstep::synth {

/// Names of Reference in model files, by its value.
inline constexpr std::array<std::string_view, 5> kReferences{"", "latest", "next", "back", "carried"};

}  // namespace lockstep::synth
