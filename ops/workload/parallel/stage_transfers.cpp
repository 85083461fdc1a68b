/// @file
/// What a pipeline stage sends to and receives from its neighbours.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/stage_writer.hpp"

namespace lockstep {
namespace {

// Metadata that nanotron sends before a tensor: seven numbers, then its shape and its strides (three
// dimensions).
constexpr Bytes kFirstMetadata{7 * 8.0};
constexpr Bytes kSecondMetadata{6 * 8.0};
constexpr Bytes kNumber{8};
constexpr int kReadsOfFirst = 2;  // how many numbers follow: compared with the buffer's, and its slice's end
constexpr int kReadsOfSecond = 14;  // three ends of slices, three flags, the size, seven numbers of the view

}  // namespace

/// DeepSpeed and Megatron-LM without overlap of transfers send and receive in one NCCL group, which the
/// compute stream waits for; schedules that overlap them do not.
bool StageWriter::waits_for_sends() const {
  return plan_.spec.schedule == PipelineSchedule::GPipe || plan_.spec.schedule == PipelineSchedule::OneFOneB;
}

/// Megatron-LM's batch_p2p_comm, and the authors' fork of ZB-H1 (fused_pipeline_ops): batch_isend_irecv over
/// the pipeline's group. With overlap_p2p_comm each message is by itself, and PyTorch has a communicator for
/// each pair (ProcessGroupNCCL.cpp, getKeySendRecv). So has nanotron, which sends tensors one by one.
bool StageWriter::is_batched() const {
  const bool overlaps = plan_.spec.schedule == PipelineSchedule::Interleaved && plan_.spec.overlap_p2p;
  return !overlaps && !sends_tensors_one_by_one();
}

/// Megatron-LM, core/pipeline_parallel/p2p_communication.py, _communicate: torch.cuda.synchronize() behind a
/// batch "to protect against race condition". The authors' fork of ZB-H1 has none.
bool StageWriter::waits_for_device() const {
  return plan_.spec.waits_for_device() && model_.implementation == Implementation::Megatron;
}

void StageWriter::transfer(const Transfer& transfer, std::vector<EventId>& ends) {
  const bool sends = transfer.kind == CollectiveKind::Send;
  step_.program().begin(sends ? "c10d::send" : "c10d::recv_");
  const std::string stream = fmt::format("nccl {} {}", transfer.group, sends ? "send" : "receive");
  ends.push_back(step_.communicate({.kind = transfer.kind,
                                    .type = scope_.storage(),
                                    .size = transfer.size,
                                    .send_bytes = {},
                                    .peer = transfer.peer,
                                    .batched = is_batched()},
                                   {.group = transfer.group, .stream = stream, .name = stream}));
  step_.program().end();
}

std::vector<StageExchange> StageWriter::exchanges(const std::vector<StageAction>& actions) const {
  return plan_.spec.schedule == PipelineSchedule::Interleaved
             ? stage_exchanges(actions, plan_.spec.overlap_p2p)
             : std::vector<StageExchange>(actions.size());
}

void StageWriter::exchange(const StageExchange& behind) {
  if (!behind.waits) {
    for (const std::optional<StageAction>& next : {behind.forward, behind.backward}) {
      if (next) {
        post_receive(next->kind, next->chunk, posted(next->kind));
      }
    }
    return;
  }
  if (messages_.unsent) {
    send(StageAction::Kind::Forward, *std::exchange(messages_.unsent, std::nullopt));
  }
  std::size_t arrivals = 0;
  for (const std::optional<StageAction>& next : {behind.forward, behind.backward}) {
    if (next) {
      const std::size_t before = receives_.size();
      post_receive(next->kind, next->chunk, receives_);
      arrivals += receives_.size() - before;
      messages_.has_come[place_of(next->kind)] = true;
    }
  }
  receives_.insert(receives_.end(), messages_.sends.begin(), messages_.sends.end());
  messages_.sends.clear();
  wait_for_transfers();
  for (; arrivals > 0; --arrivals) {
    gather_message();
  }
}

std::size_t StageWriter::place_of(StageAction::Kind kind) {
  return kind == StageAction::Kind::Forward ? 0 : 1;
}

std::vector<EventId>& StageWriter::posted(StageAction::Kind kind) {
  return messages_.posted[place_of(kind)];
}

/// Gathers the message over the tensor-parallel ranks, each of which was sent a share.
void StageWriter::gather_message() {
  if (plan_.spec.shares_messages()) {
    scope_.communicate(CollectiveKind::AllGather, "tp", plan_.spec.tensor,
                       scope_.bytes(scope_.sizes.elements()));
  }
}

void StageWriter::post_receive(StageAction::Kind kind, int chunk, std::vector<EventId>& ends) {
  const int stages = plan_.spec.pipeline;
  const bool forward = kind == StageAction::Kind::Forward;
  const bool at_end = forward ? plan_.is_first(stage_, chunk) : plan_.is_last(stage_, chunk);
  if (!at_end && stages > 1) {
    transfer({CollectiveKind::Receive, forward ? "pp" : "pp gradients",
              (stage_ + (forward ? stages - 1 : 1)) % stages, message_size()},
             ends);
  }
}

void StageWriter::receive(const StageAction& action) {
  if (plan_.spec.waits_before_passes) {
    step_.program().wait_device();
  }
  if (sends_tensors_one_by_one()) {
    receive_one_by_one(action);
    return;
  }
  if (std::exchange(messages_.has_come[place_of(action.kind)], false)) {
    return;
  }
  receives_ = std::exchange(posted(action.kind), {});
  if (receives_.empty()) {
    post_receive(action.kind, action.chunk, receives_);
  }
  const bool is_sent_one = !receives_.empty();
  wait_for_transfers();
  if (is_sent_one) {
    gather_message();
  }
}

void StageWriter::send(const StageAction& action) {
  if (sends_tensors_one_by_one()) {
    send_one_by_one(action);
  } else if (sends_later_) {
    messages_.unsent = action.chunk;
  } else {
    send(action.kind, action.chunk);
  }
}

void StageWriter::send(StageAction::Kind kind, int chunk) {
  const int stages = plan_.spec.pipeline;
  const bool forward = kind == StageAction::Kind::Forward;
  const bool at_end = forward ? plan_.is_last(stage_, chunk) : plan_.is_first(stage_, chunk);
  if (!at_end && stages > 1) {
    transfer({CollectiveKind::Send, forward ? "pp" : "pp gradients",
              (stage_ + (forward ? 1 : stages - 1)) % stages, message_size()},
             messages_.sends);
  }
}

void StageWriter::wait_for_transfers() {
  if (waits_for_sends()) {
    receives_.insert(receives_.end(), messages_.sends.begin(), messages_.sends.end());
  }
  messages_.sends.clear();
  for (const EventId end : receives_) {
    step_.wait_for(end);
  }
  if (!receives_.empty() && waits_for_device()) {
    step_.program().wait_device();
  }
  receives_.clear();
}

Bytes StageWriter::message_size() const {
  return scope_.bytes(message_elements(plan_, scope_.sizes));
}

bool StageWriter::sends_tensors_one_by_one() const {
  return is_eager(scope_) && waits_for_sends() && plan_.spec.pipeline > 1;
}

/// nanotron, parallel/pipeline_parallel/p2p.py of 2024, isend_tensors and irecv_tensors: a tensor's form goes
/// ahead in two messages, through tensors on the GPU that the host fills and reads number by number. So it
/// waits for all that the compute stream holds, and launches nothing ahead of a message.
void StageWriter::exchange(const Transfer& tensor) {
  const bool sends = tensor.kind == CollectiveKind::Send;
  const auto pass = [&](Bytes size) {
    std::vector<EventId> ends;
    transfer({tensor.kind, tensor.group, tensor.peer, size}, ends);
    step_.wait_for(ends.front());
  };
  const auto read = [&](int numbers) {
    for (int i = 0; i < numbers; ++i) {
      step_.blocking_copy("aten::item", kernels::copy_to_host(kNumber, false));
    }
  };
  const auto compute = [&](const char* name) {
    step_.op(name, {kernels::elementwise("metadata", 1, DataType::INT64, {.reads = 1, .writes = 1})});
  };
  if (sends) {
    step_.blocking_copy("aten::copy_", kernels::copy_to_device(kFirstMetadata, false));
    pass(kFirstMetadata);
    for (int assertion = 0; assertion < 2; ++assertion) {
      compute("aten::eq");
      read(1);
    }
    step_.blocking_copy("aten::copy_", kernels::copy_to_device(kSecondMetadata, false));
    pass(kSecondMetadata);
  } else {
    pass(kFirstMetadata);
    compute("aten::add");
    compute("aten::gt");
    read(kReadsOfFirst);
    pass(kSecondMetadata);
    read(kReadsOfSecond);
  }
  pass(tensor.size);
}

/// The layer's two inputs (models/llama.py: hidden_states and sequence_mask, a byte a token), where the
/// stage that receives them has layers.
void StageWriter::exchange_activations(CollectiveKind kind, int peer, int receiver) {
  exchange({kind, "pp", peer, message_size()});
  if (plan_.layers_of(receiver, 0).count > 0) {
    exchange({kind, "pp", peer, Bytes{static_cast<double>(scope_.sizes.batch * model_.sequence)}});
  }
}

/// Receives as state.py's run_communication does, "only one communication is done at a time": a gradient that
/// waits to be sent goes behind the next activations that come.
void StageWriter::receive_one_by_one(const StageAction& action) {
  const int before = stage_ - 1;
  if (action.kind != StageAction::Kind::Forward) {
    if (stage_ + 1 < plan_.spec.pipeline) {
      exchange({CollectiveKind::Receive, "pp gradients", stage_ + 1, message_size()});
    }
    return;
  }
  if (stage_ > 0) {
    exchange_activations(CollectiveKind::Receive, before, stage_);
  }
  if (messages_.owes_gradient) {
    exchange({CollectiveKind::Send, "pp gradients", before, message_size()});
    messages_.owes_gradient = false;
  }
}

void StageWriter::send_one_by_one(const StageAction& action) {
  if (action.kind == StageAction::Kind::Forward) {
    if (stage_ + 1 < plan_.spec.pipeline) {
      exchange_activations(CollectiveKind::Send, stage_ + 1, stage_ + 1);
    }
  } else if (stage_ > 0) {
    if (forward_follows_) {
      messages_.owes_gradient = true;
    } else {
      exchange({CollectiveKind::Send, "pp gradients", stage_ - 1, message_size()});
    }
  }
}

}  // namespace lockstep
