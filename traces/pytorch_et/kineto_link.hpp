#pragma once

/// @file
/// Which node of an execution trace is which operator of the profile (Kineto) of the same rank: the profile
/// has the times, the execution trace the arguments.

#include <cstdint>
#include <string>
#include <vector>

#include "traces/kineto/recorded_trace.hpp"
#include "traces/pytorch_et/execution_trace.hpp"

namespace lockstep::pytorch_et {

enum class LinkMethod : std::uint8_t {
  None,              ///< too little in common
  RecordFunctionId,  ///< rf_id = "Record function id"; PyTorch of 2024 and later
  ExternalId,        ///< rf_id = "External id" minus a constant, which equal names give away
  Order,             ///< the order of calls in each thread, aligned by names
};
[[nodiscard]] std::string_view to_string(LinkMethod method);

struct KinetoLink {
  LinkMethod method = LinkMethod::None;
  std::vector<std::int64_t> node_of;  ///< by operator of the profile: index of its node, -1: none
  std::uint64_t operators = 0;        ///< of the profile, without ProfilerStep
  std::uint64_t linked = 0;           ///< of them
  std::uint64_t nodes = 0;            ///< of the execution trace, without roots
  std::uint64_t linked_nodes = 0;     ///< of them
  /// Steps of the profile for one of the execution trace: its nodes stand for the operators of each.
  std::uint32_t repeats = 1;
  std::uint64_t same_caller = 0;  ///< linked operators whose callers are linked with each other too

  /// The share of the execution trace that was found, times how often callers agree, which the link did not
  /// look at. 1 for a certain link.
  [[nodiscard]] double confidence() const;
};

/// Links by the first method that finds what is there; what stays unlinked, and how it was done, goes into
/// @p report.
[[nodiscard]] KinetoLink link_to_kineto(const ExecutionTrace& trace, const kineto::RecordedTrace& profile,
                                        ImportReport& report);

}  // namespace lockstep::pytorch_et
