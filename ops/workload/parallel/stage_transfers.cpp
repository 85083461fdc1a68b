/// @file
/// What a pipeline stage sends to and receives from its neighbours.

#include <fmt/format.h>

#include "ops/workload/parallel/stage_writer.hpp"

namespace lockstep {

/// DeepSpeed and Megatron-LM without overlap of transfers send and receive in one NCCL group, which the
/// compute stream waits for; schedules that overlap them do not.
bool StageWriter::waits_for_sends() const {
  return plan_.spec.schedule == PipelineSchedule::GPipe || plan_.spec.schedule == PipelineSchedule::OneFOneB;
}

void StageWriter::transfer(const Transfer& transfer, std::vector<EventId>& ends) {
  const bool sends = transfer.kind == CollectiveKind::Send;
  step_.program().begin(sends ? "c10d::send" : "c10d::recv_");
  const std::string stream = fmt::format("nccl {} {}", transfer.group, sends ? "send" : "receive");
  ends.push_back(step_.communicate({.kind = transfer.kind,
                                    .type = scope_.storage(),
                                    .size = scope_.bytes(message_elements(plan_, scope_.sizes)),
                                    .send_bytes = {},
                                    .peer = transfer.peer},
                                   {.group = transfer.group, .stream = stream, .name = stream}));
  step_.program().end();
}

/// Megatron-LM's interleaved schedule with overlap_p2p_comm asks for the input of the next chunk behind each
/// chunk, forward and backward, and waits for it when that begins (core/pipeline_parallel/schedules.py,
/// forward_backward_pipelining_with_interleaving): it comes while the pass of the other direction computes.
bool StageWriter::posts_ahead() const {
  return plan_.spec.schedule == PipelineSchedule::Interleaved && plan_.spec.overlap_p2p;
}

std::vector<EventId>& StageWriter::posted(StageAction::Kind kind) {
  return posted_[kind == StageAction::Kind::Forward ? 0 : 1];
}

void StageWriter::post_receive(StageAction::Kind kind, int chunk, std::vector<EventId>& ends) {
  const int stages = plan_.spec.pipeline;
  const bool forward = kind == StageAction::Kind::Forward;
  const bool at_end = forward ? plan_.is_first(stage_, chunk) : plan_.is_last(stage_, chunk);
  if (!at_end && stages > 1) {
    transfer({CollectiveKind::Receive, forward ? "pp" : "pp gradients",
              (stage_ + (forward ? stages - 1 : 1)) % stages},
             ends);
  }
}

void StageWriter::receive(const StageAction& action) {
  std::vector<EventId>& ahead = posted(action.kind);
  if (ahead.empty()) {
    post_receive(action.kind, action.chunk, receives_);
  } else {
    receives_ = std::move(ahead);
    ahead.clear();
  }
  const bool gathers = plan_.spec.shares_messages() && !receives_.empty();
  wait_for_transfers();
  if (gathers) {
    scope_.communicate(CollectiveKind::AllGather, "tp", plan_.spec.tensor,
                       scope_.bytes(scope_.sizes.elements()));
  }
}

void StageWriter::send(const StageAction& action) {
  const int stages = plan_.spec.pipeline;
  const bool forward = action.kind == StageAction::Kind::Forward;
  const bool at_end = forward ? plan_.is_last(stage_, action.chunk) : plan_.is_first(stage_, action.chunk);
  if (!at_end && stages > 1) {
    transfer({CollectiveKind::Send, forward ? "pp" : "pp gradients",
              (stage_ + (forward ? 1 : stages - 1)) % stages},
             sends_);
  }
}

void StageWriter::wait_for_transfers() {
  for (const EventId end : receives_) {
    step_.wait_for(end);
  }
  if (waits_for_sends()) {
    for (const EventId end : sends_) {
      step_.wait_for(end);
    }
  }
  receives_.clear();
  sends_.clear();
}

}  // namespace lockstep
