#pragma once

#include <cstdint>

namespace lockstep {

/// How the members of a collective came together, or a copy and its engine.
struct Rendezvous {
  static constexpr std::uint32_t kNobody = 0xffffffff;
  double met = 0;  ///< when the last one arrived, s; copies: when they had their engine
  /// Copies: of the copy that left its engine to this one, kNobody where none was waited for.
  std::uint32_t last_rank = kNobody;
  std::uint32_t last_launch = 0;  ///< the how-manieth of its stream, over all steps
  std::uint8_t last_stream = 0;
};

/// Facts that the members of a collective, or a copy, cannot know of themselves.
struct RendezvousRecord {
  Rendezvous rendezvous;
  double end = 0;  ///< s
};

}  // namespace lockstep
