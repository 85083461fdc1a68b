#pragma once

#include "generate/source.hpp"

namespace lockstep::generate {

/// The ranks that are kept, and what became of the collectives that miss members.
struct ScaleDown {
  std::vector<std::uint32_t> chosen;  ///< ranks of the source, by rank of the benchmark
  std::size_t shrunk = 0;             ///< collectives a step among the members that are there, then a delay
  std::size_t alone = 0;              ///< a delay alone: nobody else is there
};

/// Fewer ranks stand for all: one of each class of alike ranks first, then the lowest. Groups shrink to the
/// members that are there; bytes per rank stay. From when the last of them has arrived, a collective takes as
/// long as it did with all members in a simulation of the whole job, its waiting for absent ones included.
/// @throws std::invalid_argument for no ranks, or more than the job has
[[nodiscard]] ScaleDown scale_down(Benchmark& benchmark, const Machine& machine, std::uint32_t ranks);

}  // namespace lockstep::generate
