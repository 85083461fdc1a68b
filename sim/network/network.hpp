#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "ops/collectives/collective_plan.hpp"

namespace lockstep {

/// A transfer in flight, numbered by whoever starts it.
using TransferId = std::uint32_t;

/// Carries the transfer part of collectives, sends and copies over the links, in global time. Three ways to
/// share links exist: `shared`, `flows` and `alone`; all take the same plans and agree on a transfer that is
/// alone.
class Network {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  virtual ~Network() = default;

  /// Makes a plan known before it is started; the plan must outlive the network. Shapes known early are
  /// compressed.
  virtual void prepare(const CollectivePlan& plan) = 0;

  /// Starts moving the plan's bytes at @p date (seconds), not before any date already completed. Latency has
  /// been paid by the caller. @param members the ends of the plan's edges, by position
  virtual void start(TransferId transfer, const CollectivePlan& plan, std::span<const VertexId> members,
                     double date) = 0;

  /// Date of the next completion if nothing else starts; kNever when nothing is in flight, or when
  /// completions are announced by SimGrid itself (flows).
  [[nodiscard]] virtual double next_completion() = 0;

  /// Whether next_completion() knows of all transfers; false: SimGrid announces some.
  [[nodiscard]] virtual bool knows_completions() const { return true; }

  /// Whether a transfer completes at @p date or before, whatever else starts then. For the owner of the
  /// clock: what else is due at a date happens before rates are shared out again.
  [[nodiscard]] virtual bool completes_by(double date) { return next_completion() <= date; }

  /// Takes the transfer that completes at next_completion() off the network.
  virtual TransferId complete_next() = 0;
};

}  // namespace lockstep
