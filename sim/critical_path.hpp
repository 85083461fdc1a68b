#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"

namespace lockstep {

class Executor;

/// A kind of work on the critical path of the last step.
struct CriticalShare {
  std::string what;    ///< kernel name, `all_reduce`, `host: aten::addmm`, `launch latency`, ...
  double seconds = 0;  ///< on the path
  std::uint32_t pieces = 0;
  std::string bottleneck;  ///< collectives: the link that bounds them most often; else empty
};

/// Walks back from the end of the last step along what each piece of work waited for. Needs the RankLogs.
std::vector<CriticalShare> critical_path(const Executor& executor);

}  // namespace lockstep
