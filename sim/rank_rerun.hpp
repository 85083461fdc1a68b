#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/communicator.hpp"
#include "sim/rank.hpp"
#include "sim/run_context.hpp"

namespace lockstep {

class Executor;

/// One rank of a finished run, once more and alone, with a log: all that it knew of the other ranks is when
/// its collectives and copies ended, which the run has kept (RendezvousRecord), and everything else
/// that it did follows from its program. So a run need not log every rank for the few that the critical path
/// meets.
class RankRerun final : public RankEnvironment {
 public:
  /// @param executor has finished, with ExecutorSpec::record_rendezvous
  /// @param number of a simulated rank
  RankRerun(Executor& executor, std::uint32_t number);

  /// All steps, as in the run: to the last bit, but that stepped kernels may be re-timed in another order
  /// where dates are equal.
  /// @throws std::logic_error when the rank did something else
  void run();

  [[nodiscard]] const Rank& rank() const { return rank_; }
  /// The log of the last step.
  [[nodiscard]] std::unique_ptr<RankLog> take_log() { return std::move(rank_.log); }

  // RankEnvironment
  Membership pair(const Rank& rank, const CollectiveCall& call) override;
  void arrive(Rank& rank, std::uint8_t stream, const StreamItem& item, double date) override;
  void copy(Rank& rank, std::uint8_t stream, std::uint32_t kernel, double date) override;
  void call_at(Rank& rank, std::uint8_t stream, double date) override;
  [[nodiscard]] double now() const override { return now_; }
  void resume(Rank& /*rank*/, unsigned /*actor*/) override {}

 private:
  enum class Moment : std::uint8_t { Met, CollectiveEnd, CopyEnd, StreamTick };
  struct Scheduled {
    double date;
    std::uint64_t order;
    Moment what;
    std::uint8_t stream;
    Rendezvous rendezvous;
    const CollectiveCall* call;  ///< of the first two
    bool operator<(const Scheduled& other) const {
      return date > other.date || (date == other.date && order > other.order);
    }
  };
  /// Stands for a process group: counts what this rank alone calls there.
  struct Seat {
    const Communicator* group;
    std::uint32_t position;
    Communicator alone;
  };

  Membership seat(const Membership& original);
  void schedule(double date, Moment what, std::uint8_t stream, const Rendezvous& rendezvous = {},
                const CollectiveCall* call = nullptr);
  void happen(const Scheduled& scheduled);
  void check() const;

  Executor& executor_;
  RunContext context_;
  Rank rank_;
  std::deque<Seat> seats_;                  // addresses are kept
  std::vector<std::uint32_t> copies_done_;  // by stream
  std::vector<Scheduled> heap_;
  std::uint64_t order_ = 0;
  double now_ = 0;
};

}  // namespace lockstep
