#pragma once

#include <optional>
#include <string_view>

#include "traces/pytorch_et/execution_trace.hpp"
#include "traces/pytorch_et/node_parser.hpp"

namespace lockstep::pytorch_et {

/// The collective that a node calls: by its attributes (schema 1.1.0 and later), else by the arguments of
/// `record_param_comms`. Their order is that of PyTorch's RECORD_PARAM_COMMS: tensors, sequence number,
/// group, rank, name of the collective, splits of input and output, ranks of the group.
/// Nothing: it is no such node, or it records a wait for an earlier collective.
/// *Source*: torch/csrc/distributed/c10d/ParamCommsUtils.hpp.
[[nodiscard]] std::optional<CommunicationCall> communication_call(const WrittenNode& written,
                                                                  const Node& node,
                                                                  const ExecutionTrace& trace);

/// A process group as PyTorch lists it at the beginning of a trace.
struct InitialGroup {
  kineto::ProcessGroupEntry group;
  std::string backend;  ///< `backend_id`: how record_param_comms names the group before 1.1.0
};

/// The process groups that a node named `## process_group:init ##` lists: JSON,
/// `[{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 2}]`. An entry that is not so is
/// counted in @p report.
[[nodiscard]] std::vector<InitialGroup> initial_groups(std::string_view json, ImportReport& report);

inline constexpr std::string_view kGroupsNode = "## process_group:init ##";

}  // namespace lockstep::pytorch_et
