#pragma once

#include <cstdint>

namespace lockstep {

/// How the members of a collective came together, or a copy and its engine.
struct Encounter {
  double met = 0;  ///< when the last one arrived, s
  std::uint32_t last_rank = 0;
  std::uint32_t last_launch = 0;  ///< the how-manieth of its stream, over all steps
  std::uint8_t last_stream = 0;
};

/// What the members of a collective cannot know of themselves.
struct MeetingRecord {
  Encounter encounter;
  double end = 0;  ///< s
};

/// When a copy had a copy engine and the links, s.
struct CopyRecord {
  double begun = 0;
  double end = 0;
};

}  // namespace lockstep
