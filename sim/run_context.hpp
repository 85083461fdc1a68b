#pragma once

#include <cstdint>
#include <vector>

#include "sim/timeline_buffer.hpp"
#include "sim/variation.hpp"

namespace lockstep {

class Rank;
class Communicator;
struct CollectiveCall;
struct StreamItem;

/// A rank's place in one of its process groups.
struct Membership {
  Communicator* group = nullptr;
  std::uint32_t position = 0;
};

/// The world outside a rank, as its actors ask for it. Everything here happens in global time.
class RankEnvironment {
 public:
  virtual ~RankEnvironment() = default;

  /// The two-member group of a send or receive that @p rank calls.
  virtual Membership pair(const Rank& rank, const CollectiveCall& call) = 0;

  /// The communication kernel at the head of a stream has reached the GPU at @p date.
  virtual void arrive(Rank& rank, std::uint8_t stream, const StreamItem& item, double date) = 0;

  /// A copy over PCIe (kernel @p kernel of the rank's program) is ready for a copy engine at @p date, if it
  /// needs one (needs_copy_engine()).
  virtual void copy(Rank& rank, std::uint8_t stream, std::uint32_t kernel, double date) = 0;

  /// Stepped mode: call Rank::tick(stream, date) when global time reaches @p date.
  virtual void call_at(Rank& rank, std::uint8_t stream, double date) = 0;

  /// Stepped mode: the date up to which everything has happened.
  [[nodiscard]] virtual double now() const = 0;

  /// The actor has something to do (only when actors live in SimGrid; else Rank::run() finds it).
  virtual void resume(Rank& rank, unsigned actor) = 0;
};

/// State that all actors of a simulation share, read-only but for the buffers.
struct RunContext {
  RankEnvironment* surroundings = nullptr;
  TimelineBuffer* timeline = nullptr;  ///< null: nobody listens
  const Variation* variation = nullptr;
  bool stepped = false;  ///< kernels start and end in global time, so that overlap can slow them down
  bool actors_in_simgrid = false;  ///< wake-ups go through RankEnvironment::resume
  std::uint32_t steps = 1;
  std::vector<double> step_ends;  ///< by step: latest end of any of its work so far, s
};

}  // namespace lockstep
