#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ops/workload/parallel/pipeline_schedule.hpp"
#include "ops/workload/parallel/stage_scope.hpp"

namespace lockstep {

/// Activations and gradients that a pipeline stage receives from and sends to its neighbours.
class NeighbourMessages {
 public:
  /// Messages that are left from one action to the next.
  struct Pending {
    std::vector<EventId> sends;                  ///< not waited for yet
    std::array<std::vector<EventId>, 2> posted;  ///< forward, backward: receives that began ahead
    std::array<bool, 2> has_come{};              ///< forward, backward: inputs of the next actions
    std::optional<int> unsent;                   ///< chunk whose forward output goes with the next exchange
    bool owes_gradient = false;                  ///< to the stage before
    bool operator==(const Pending&) const = default;
  };
  /// The actions around the one that is written.
  struct Neighbours {
    StageExchange behind;
    bool forward_follows = false;  ///< only where tensors are sent one by one
    bool operator==(const Neighbours&) const = default;
  };

  explicit NeighbourMessages(const StageScope& stage) : stage_{stage}, scope_{stage.layer} {}

  /// The exchange behind each of the @p actions, and whether a forward pass follows it.
  [[nodiscard]] std::vector<Neighbours> neighbours(const std::vector<StageAction>& actions) const;

  void begin(const Neighbours& neighbours);
  void receive(const StageAction& action);
  void send(const StageAction& action);
  /// Writes the exchange behind the action that began.
  void exchange();
  void wait_for_transfers();

  [[nodiscard]] const Pending& pending() const { return pending_; }
  /// Goes on after an action that was repeated instead of written.
  void go_on(const Pending& pending) { pending_ = pending; }

 private:
  struct Transfer {
    CollectiveKind kind;
    const char* group;
    int peer;
    Bytes size;
  };

  [[nodiscard]] bool sends_tensors_one_by_one() const;
  [[nodiscard]] bool waits_for_sends() const;
  [[nodiscard]] bool is_batched() const;
  [[nodiscard]] bool waits_for_device() const;
  [[nodiscard]] Bytes message_size() const;
  [[nodiscard]] std::vector<EventId>& posted(StageAction::Kind kind);
  void post_receive(StageAction::Kind kind, int chunk, std::vector<EventId>& ends);
  void send(StageAction::Kind kind, int chunk);
  void transfer(const Transfer& transfer, std::vector<EventId>& ends);
  void gather_message();
  void receive_one_by_one(const StageAction& action);
  void send_one_by_one(const StageAction& action);
  void exchange_activations(CollectiveKind kind, int peer, int receiver);
  void exchange(const Transfer& tensor);

  StageScope stage_;
  const LayerScope& scope_;
  Neighbours around_;
  Pending pending_;
  std::vector<EventId> receives_;  // that the compute stream is about to wait for
};

}  // namespace lockstep
