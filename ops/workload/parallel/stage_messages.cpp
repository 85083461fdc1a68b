#include "ops/workload/parallel/stage_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

// Metadata that nanotron sends before a tensor: seven numbers, then its shape and its strides (three
// dimensions).
constexpr Bytes kFirstMetadata{7 * 8.0};
constexpr Bytes kSecondMetadata{6 * 8.0};
constexpr Bytes kNumber{8};
constexpr int kReadsOfFirst = 2;  // how many numbers follow: compared with the buffer's, and its slice's end
constexpr int kReadsOfSecond = 14;  // three ends of slices, three flags, the size, seven numbers of the view

std::size_t place_of(StageAction::Kind kind) {
  return kind == StageAction::Kind::Forward ? 0 : 1;
}

}  // namespace

/// DeepSpeed and Megatron-LM without overlap of transfers send and receive in one NCCL group, which the
/// compute stream waits for; schedules that overlap them do not.
bool StageMessages::waits_for_sends() const {
  return scope_.plan.spec.schedule == PipelineSchedule::GPipe ||
         scope_.plan.spec.schedule == PipelineSchedule::OneFOneB;
}

/// Megatron-LM's batch_p2p_comm, and the authors' fork of ZB-H1 (fused_pipeline_ops): batch_isend_irecv over
/// the pipeline's group. With overlap_p2p_comm each message is by itself, and PyTorch has a communicator for
/// each pair (ProcessGroupNCCL.cpp, getKeySendRecv). So has nanotron, which sends tensors one by one.
bool StageMessages::is_batched() const {
  const bool overlaps =
      scope_.plan.spec.schedule == PipelineSchedule::Interleaved && scope_.plan.spec.overlap_p2p;
  return !overlaps && !sends_tensors_one_by_one();
}

/// Megatron-LM, core/pipeline_parallel/p2p_communication.py, _communicate: torch.cuda.synchronize() behind a
/// batch "to protect against race condition". The authors' fork of ZB-H1 has none.
bool StageMessages::waits_for_device() const {
  return scope_.plan.spec.waits_for_device() && scope_.model.implementation == Implementation::Megatron;
}

void StageMessages::transfer(const Transfer& transfer, std::vector<EventId>& ends) {
  const bool sends = transfer.kind == CollectiveKind::Send;
  scope_.step.program().begin(sends ? "c10d::send" : "c10d::recv_");
  const std::string stream = fmt::format("nccl {} {}", transfer.group, sends ? "send" : "receive");
  ends.push_back(scope_.step.communicate({.kind = transfer.kind,
                                          .type = scope_.storage(),
                                          .size = transfer.size,
                                          .send_bytes = {},
                                          .peer = transfer.peer,
                                          .batched = is_batched()},
                                         {.group = transfer.group, .stream = stream, .name = stream}));
  scope_.step.program().end();
}

std::vector<StageMessages::Neighbours> StageMessages::neighbours(
    const std::vector<StageAction>& actions) const {
  const std::vector<StageExchange> exchanges = scope_.plan.spec.schedule == PipelineSchedule::Interleaved
                                                   ? stage_exchanges(actions, scope_.plan.spec.overlap_p2p)
                                                   : std::vector<StageExchange>(actions.size());
  std::vector<Neighbours> all;
  all.reserve(actions.size());
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const bool forward_follows = i + 1 < actions.size() && actions[i + 1].kind == StageAction::Kind::Forward;
    all.push_back({exchanges[i], sends_tensors_one_by_one() && forward_follows});
  }
  return all;
}

void StageMessages::begin(const Neighbours& neighbours) {
  around_ = neighbours;
}

void StageMessages::exchange() {
  const StageExchange& behind = around_.behind;
  if (!behind.waits) {
    for (const std::optional<StageAction>& next : {behind.forward, behind.backward}) {
      if (next) {
        post_receive(next->kind, next->chunk, posted(next->kind));
      }
    }
    return;
  }
  if (pending_.unsent) {
    send(StageAction::Kind::Forward, *std::exchange(pending_.unsent, std::nullopt));
  }
  std::size_t arrivals = 0;
  for (const std::optional<StageAction>& next : {behind.forward, behind.backward}) {
    if (next) {
      const std::size_t before = receives_.size();
      post_receive(next->kind, next->chunk, receives_);
      arrivals += receives_.size() - before;
      pending_.has_come[place_of(next->kind)] = true;
    }
  }
  receives_.insert(receives_.end(), pending_.sends.begin(), pending_.sends.end());
  pending_.sends.clear();
  wait_for_transfers();
  for (; arrivals > 0; --arrivals) {
    gather_message();
  }
}

std::vector<EventId>& StageMessages::posted(StageAction::Kind kind) {
  return pending_.posted[place_of(kind)];
}

/// Gathers the message over the tensor-parallel ranks, each of which was sent a share.
void StageMessages::gather_message() {
  if (scope_.plan.spec.shares_messages()) {
    scope_.communicate(CollectiveKind::AllGather, "tp", scope_.plan.spec.tensor,
                       scope_.bytes(scope_.sizes.elements()));
  }
}

void StageMessages::post_receive(StageAction::Kind kind, int chunk, std::vector<EventId>& ends) {
  const int stages = scope_.plan.spec.pipeline;
  const bool forward = kind == StageAction::Kind::Forward;
  const bool at_end = forward ? stage_.is_first(chunk) : stage_.is_last(chunk);
  if (!at_end && stages > 1) {
    transfer({CollectiveKind::Receive, forward ? "pp" : "pp gradients",
              (stage_.number + (forward ? stages - 1 : 1)) % stages, message_size()},
             ends);
  }
}

void StageMessages::receive(const StageAction& action) {
  if (scope_.plan.spec.waits_before_passes) {
    scope_.step.program().wait_device();
  }
  if (sends_tensors_one_by_one()) {
    receive_one_by_one(action);
    return;
  }
  if (std::exchange(pending_.has_come[place_of(action.kind)], false)) {
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

void StageMessages::send(const StageAction& action) {
  if (sends_tensors_one_by_one()) {
    send_one_by_one(action);
  } else if (!around_.behind.sends) {
    pending_.unsent = action.chunk;
  } else {
    send(action.kind, action.chunk);
  }
}

void StageMessages::send(StageAction::Kind kind, int chunk) {
  const int stages = scope_.plan.spec.pipeline;
  const bool forward = kind == StageAction::Kind::Forward;
  const bool at_end = forward ? stage_.is_last(chunk) : stage_.is_first(chunk);
  if (!at_end && stages > 1) {
    transfer({CollectiveKind::Send, forward ? "pp" : "pp gradients",
              (stage_.number + (forward ? 1 : stages - 1)) % stages, message_size()},
             pending_.sends);
  }
}

void StageMessages::wait_for_transfers() {
  if (waits_for_sends()) {
    receives_.insert(receives_.end(), pending_.sends.begin(), pending_.sends.end());
  }
  pending_.sends.clear();
  for (const EventId end : receives_) {
    scope_.step.wait_for(end);
  }
  if (!receives_.empty() && waits_for_device()) {
    scope_.step.program().wait_device();
  }
  receives_.clear();
}

Bytes StageMessages::message_size() const {
  return scope_.bytes(message_elements(scope_.plan, scope_.sizes));
}

bool StageMessages::sends_tensors_one_by_one() const {
  return is_eager(scope_) && waits_for_sends() && scope_.plan.spec.pipeline > 1;
}

/// nanotron, parallel/pipeline_parallel/p2p.py of 2024, isend_tensors and irecv_tensors: a tensor's form goes
/// ahead in two messages, through tensors on the GPU that the host fills and reads number by number. So it
/// waits for all that the compute stream holds, and launches nothing ahead of a message.
void StageMessages::exchange(const Transfer& tensor) {
  const bool sends = tensor.kind == CollectiveKind::Send;
  const auto pass = [&](Bytes size) {
    std::vector<EventId> ends;
    transfer({tensor.kind, tensor.group, tensor.peer, size}, ends);
    scope_.step.wait_for(ends.front());
  };
  const auto read = [&](int numbers) {
    for (int i = 0; i < numbers; ++i) {
      scope_.step.blocking_copy("aten::item", kernels::copy_to_host(kNumber, false));
    }
  };
  const auto compute = [&](const char* name) {
    scope_.step.op(name, {kernels::elementwise("metadata", 1, DataType::INT64, {.reads = 1, .writes = 1})});
  };
  if (sends) {
    scope_.step.blocking_copy("aten::copy_", kernels::copy_to_device(kFirstMetadata, false));
    pass(kFirstMetadata);
    for (int assertion = 0; assertion < 2; ++assertion) {
      compute("aten::eq");
      read(1);
    }
    scope_.step.blocking_copy("aten::copy_", kernels::copy_to_device(kSecondMetadata, false));
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
void StageMessages::exchange_activations(CollectiveKind kind, int peer, int receiver) {
  exchange({kind, "pp", peer, message_size()});
  if (scope_.plan.layers_of(receiver, 0).count > 0) {
    exchange({kind, "pp", peer, Bytes{static_cast<double>(scope_.sizes.batch * scope_.model.sequence)}});
  }
}

/// Receives as state.py's run_communication does, "only one communication is done at a time": a gradient that
/// waits to be sent goes behind the next activations that come.
void StageMessages::receive_one_by_one(const StageAction& action) {
  const int before = stage_.number - 1;
  if (action.kind != StageAction::Kind::Forward) {
    if (stage_.number + 1 < scope_.plan.spec.pipeline) {
      exchange({CollectiveKind::Receive, "pp gradients", stage_.number + 1, message_size()});
    }
    return;
  }
  if (stage_.number > 0) {
    exchange_activations(CollectiveKind::Receive, before, stage_.number);
  }
  if (pending_.owes_gradient) {
    exchange({CollectiveKind::Send, "pp gradients", before, message_size()});
    pending_.owes_gradient = false;
  }
}

void StageMessages::send_one_by_one(const StageAction& action) {
  if (action.kind == StageAction::Kind::Forward) {
    if (stage_.number + 1 < scope_.plan.spec.pipeline) {
      exchange_activations(CollectiveKind::Send, stage_.number + 1, stage_.number + 1);
    }
  } else if (stage_.number > 0) {
    if (around_.forward_follows) {
      pending_.owes_gradient = true;
    } else {
      exchange({CollectiveKind::Send, "pp gradients", stage_.number - 1, message_size()});
    }
  }
}

}  // namespace lockstep
