#pragma once

/// @file
/// The parts of a timeline's events that do not change from span to span, formatted once per Program.

#include <cstdint>
#include <string>
#include <vector>

#include "ops/job.hpp"
#include "traces/kineto_names.hpp"

namespace lockstep {

/// Kineto's number of a stream: 7 for the stream named `compute` (the first one where none is), as PyTorch's
/// default stream has; 20, 21, ... for the others in order.
[[nodiscard]] std::uint32_t stream_number(const Program& program, std::size_t stream);

/// Text of the events of one Program. An event is one of the heads, its numbers, and a tail.
class ProgramText {
 public:
  /// @param rank one that runs the program: says which collectives its per-rank slots stand for
  ProgramText(const Program& program, const RankAssignment& rank, NcclNames names);

  /// The place of an instruction in its program.
  struct Place {
    std::uint32_t scope = 0;     ///< number of the innermost range (from 1; its own for ranges), 0: in none
    std::uint32_t sequence = 0;  ///< collectives: how many of the same group came before it in a step
  };

  struct StreamText {
    std::string slice_tail;  ///< `,"stream":7},"tid":7,"pid":`
    std::string flow_tail;   ///< `,"tid":7,"pid":`
  };

  [[nodiscard]] const Place& place(std::size_t thread, std::size_t instruction) const {
    return places_[thread][instruction];
  }

  std::vector<std::string> kernels;       ///< heads by kernel, ready for more `args`
  std::vector<std::string> collectives;   ///< likewise by collective
  std::vector<std::string> ranges;        ///< heads by name, up to the external id
  std::vector<std::string> launch_heads;  ///< by kernel: the runtime call that launches it
  std::vector<StreamText> streams;
  std::vector<std::uint32_t> collectives_per_step;  ///< by group
  std::uint32_t scopes_per_step = 0;                ///< external ids of a step: 1 ... scopes_per_step
  bool names_steps = false;  ///< ranges say which steps there are: of a replay, whose one step is its window

 private:
  void add_places(const Program& program, const RankAssignment& rank);
  std::vector<std::vector<Place>> places_;  // by thread, by instruction
};

/// Head of the event for a runtime call that launches no kernel or copy of the program's own.
[[nodiscard]] const std::string& runtime_head(Opcode op);

/// Head of the event for an interruption of a host thread.
[[nodiscard]] std::string noise_slice(const std::string& name);

/// `"Group size":8,...,` for the `args` of a collective of the group.
[[nodiscard]] std::string group_members(const ProcessGroup& group);

}  // namespace lockstep
