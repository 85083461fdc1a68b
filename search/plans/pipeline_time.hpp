#pragma once

#include <vector>

#include "ops/workload/parallel/plan_spec.hpp"
#include "sim/interference.hpp"

namespace lockstep {

/// A message between two stages that follow each other.
struct PipelineMessage {
  double seconds = 0;  ///< from when both ends are there
  int sms = 0;         ///< that its kernel holds at either end, waiting or not
};

/// Times of the chunks of a pipeline's stages, seconds. Part c p + s is chunk c of stage s, of p stages.
struct PipelineCosts {
  std::vector<double> forward, backward;  ///< by part, for a micro-batch
  std::vector<double> weights;            ///< by part: the part of backward that ZB-H1 puts off
  std::vector<PipelineMessage> messages;  ///< by stage: between it and the next, of the last the first
  double compute = 1;                     ///< share of a part's time in which a compute kernel runs
  Interference interference = {};         ///< what messages do to these
  /// Seconds by stage that an action takes longer if the host waited for messages before it; empty: 0.
  std::vector<double> restart = {};
  std::vector<double> last = {};  ///< by part: what is added to backward of the last micro-batch; empty: 0
};

/// Time from the first action of a pipeline to its last, s: the actions of all stages (stage_actions()) as
/// the stages write them (stage_transfers.cpp). An action begins when the one before it on its stage has
/// ended and what it needs has been received; with 1F1B and GPipe also when what the one before sent has
/// been. A message takes its time from when both ends are there: the sender behind its action, the receiver
/// when the stage comes to the action, or with an interleaved schedule as stage_exchanges() says; those of
/// one kind and direction follow each other on their streams. While a message's kernel lives beside an
/// action, the compute kernels of that take as much longer as interference says.
///
/// More than six rounds of p micro-batches repeat themselves: four and five are worked out, and others go on
/// as the fifth; of an interleaved schedule four, whose last one shows on the first stage.
///
/// *Assumes* messages that share no link with others.
///
/// @param stages p >= 1  @param chunks v >= 1  @param micro_batches >= 1
[[nodiscard]] double pipeline_time(const TransformerPlanSpec& plan, int micro_batches,
                                   const PipelineCosts& costs);

}  // namespace lockstep
