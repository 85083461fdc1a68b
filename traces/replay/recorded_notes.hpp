#pragma once

#include <span>
#include <vector>

#include "traces/chakra/node_notes.hpp"
#include "traces/pytorch_et/kineto_link.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::replay {

/// Notes on a replay's instructions beyond its Programs: arguments, ids and schemas of operators. They are
/// from the rank's execution trace where it has the operators, else they are the shapes of the profile. Also:
/// which kernels communicate without having met anybody.
class RecordedNotes {
 public:
  /// @param execution_traces none, or one for each trace of the replay in its order; they and @p replay have
  /// to live as long as the notes
  /// @throws std::invalid_argument for another number of them
  RecordedNotes(const Replay& replay, std::span<const pytorch_et::ExecutionTrace> execution_traces);

  [[nodiscard]] chakra::NodeNotes notes() const;

 private:
  [[nodiscard]] std::optional<chakra::OperatorNote> of_range(const chakra::NodePlace& place) const;
  [[nodiscard]] std::optional<chakra::CommunicationNote> of_launch(const chakra::NodePlace& place) const;

  const Replay& replay_;
  std::span<const pytorch_et::ExecutionTrace> execution_traces_;
  std::vector<pytorch_et::KinetoLink> links_;            // by execution trace
  std::vector<std::vector<std::uint32_t>> collectives_;  // by trace and work: RankRecording::collectives
};

}  // namespace lockstep::replay
