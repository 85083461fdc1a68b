#pragma once

#include <functional>
#include <memory>

#include "sim/machine.hpp"
#include "sim/network/network.hpp"

namespace lockstep {

/// One SimGrid communication per edge of a transfer: slow, but SimGrid's own sharing. The oracle for
/// SharedNetwork. A transfer ends when its last edge does, so unlike in `shared` the edges of one transfer
/// may run apart; and not before its plan's own bound lets it, while its flows run unbounded (SimGrid 3.32
/// cannot limit the rate of such a communication).
class FlowsNetwork final : public Network {
 public:
  /// SimGrid before 3.34 searches a list of all flows at each completion: 19 us a flow at 4000 in flight, 50
  /// to 90 us at 16,000 (measured with 3.32). Enough for an all-to-all of 64 GPUs beside other collectives.
  static constexpr std::size_t kMostFlowsOnOldSimgrid = 8192;

  using Ended = std::function<void(TransferId, double date)>;

  explicit FlowsNetwork(const Fabric& fabric);
  ~FlowsNetwork() override;

  /// Sets where communications run and who hears of their ends, before the first start.
  void connect(const Machine& machine, Ended ended);

  void prepare(const CollectivePlan& plan) override;
  /// @throws std::invalid_argument when more flows would be in flight than this SimGrid can bear
  void start(TransferId transfer, const CollectivePlan& plan, std::span<const VertexId> members,
             double date) override;
  /// The next end of a transfer without bytes or with flows that ended early. SimGrid announces the others.
  [[nodiscard]] double next_completion() override;
  [[nodiscard]] bool knows_completions() const override { return false; }
  TransferId complete_next() override;

 private:
  struct Flows;
  std::unique_ptr<Flows> flows_;
};

}  // namespace lockstep
