#pragma once

/// @file
/// What is known of a Program's instructions beside what the Program says, for other readers of its trace.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/collectives/collective.hpp"

namespace lockstep::chakra {

/// An instruction of a Job's Program.
struct NodePlace {
  std::uint32_t program = 0;
  std::size_t thread = 0, instruction = 0;
};

/// Arguments or results of an operator, each the text of a Python list with an entry an argument, as
/// Chakra's own converter writes them: `[[3, 4, 0, 64, 4, 'cuda:0'], False]`, `[[8, 8], []]`,
/// `['Tensor(float)', 'Bool']`. Empty: not known.
struct ArgumentLists {
  std::string values, shapes, types;
};

/// An operator of the host, of a RangeBegin.
struct OperatorNote {
  ArgumentLists inputs, outputs;
  std::vector<std::pair<std::string_view, std::int64_t>> numbers;  ///< `rf_id`, `fw_parent`, `seq_id`, ...
  std::string schema;                                              ///< `op_schema`; empty: not known
  std::string_view source;                                         ///< `execution trace` or `profile`
};

/// A kernel that communicates but meets nobody in the Job, of a Launch: other tools see the collective, the
/// Program a kernel of its duration.
struct CommunicationNote {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::optional<double> rank_bytes;  ///< that a rank puts in
};

/// Either may be empty.
struct NodeNotes {
  std::function<std::optional<OperatorNote>(const NodePlace&)> of_range;
  std::function<std::optional<CommunicationNote>(const NodePlace&)> of_launch;
};

}  // namespace lockstep::chakra
