#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ops/program.hpp"
#include "traces/chakra/converted_graph.hpp"

namespace lockstep::chakra {

struct ConvertedProgram {
  Program program;
  std::vector<std::string>
      groups;  ///< pg_name of each of the Program's groups; of messages a name of their own
  /// The two ranks of each message group, by its name.
  std::map<std::string, std::vector<std::uint32_t>> message_groups;
};

/// A converted trace as a Program: a host thread for each `tid` of host operators, which works for their
/// durations one after the other and launches GPU work right after the operator that it waits for last;
/// streams as the trace numbers them (`stream`, or a `tid` that no host operator has), else one for kernels
/// and one for collectives; messages have one for each rank that they go to and one for each that they come
/// from, because neither waits for the other. Dependencies become launches, posts between threads, and events
/// between streams.
/// @param members ranks of a process group, by its pg_name
/// @throws InputError when there are more than 256 streams
[[nodiscard]] ConvertedProgram program_of(const ConvertedTrace& trace, const ConvertedGraph& graph,
                                          const std::function<std::uint32_t(const std::string&)>& members);

}  // namespace lockstep::chakra
