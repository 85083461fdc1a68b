#pragma once

#include <string>

#include "generate/runtime/rank_run.cuh"

namespace benchmark {

/// `measured.N.json`: what one rank measured, for `lockstep generate --score`.
[[nodiscard]] std::string to_json(const Measured& measured, std::uint32_t rank);

/// One line for people.
[[nodiscard]] std::string to_text(const Measured& measured, std::uint32_t rank);

}  // namespace benchmark
