#pragma once

#include <array>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/job.hpp"
#include "sim/communicator.hpp"
#include "sim/network/network.hpp"
#include "sim/rank.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

class Folding;

/// Everything that an Executor needs to know besides the Job.
struct ExecutorSpec {
  const Fabric* fabric = nullptr;
  PlanCollective plan_collective;
  std::vector<CompiledProgram> compiled;        ///< programs on GPU models
  std::vector<std::uint32_t> compiled_of_rank;  ///< by rank: index into `compiled`
  std::vector<RankTiming> timings;              ///< distinct ones
  std::vector<std::uint32_t> timing_of_rank;    ///< by rank: index into `timings`
  Variation variation;
  Noise noise;
  const Folding* folding = nullptr;  ///< only its representatives are simulated; null: all ranks
  bool stepped = false;
  std::string recorded_steps{};              ///< as SimulationOptions has it
  bool record_rendezvous = false;            ///< keep what RankRerun needs
  std::vector<std::uint32_t> metered_ranks;  ///< ranks with an ActivityMeter
};

/// All ranks of a Job, their rendezvous and their transfers, in global time; whoever owns the clock drives
/// it:
///   next_date(): when something happens next; advance_to(now): make everything due happen.
/// Between two dates actors run ahead. Causality: whatever becomes runnable at `now` has an input that was
/// resolved at `now`, so it starts at or after `now`.
class Executor final : public RankEnvironment {
 public:
  Executor(const Job& job, ExecutorSpec spec, Network& network, TimelineSink* timeline);
  ~Executor() override;

  /// Lets all actors run until they need the clock.
  void begin();

  /// Network::kNever when nothing is scheduled; then the run is over or stalled (or the network's flows are
  /// SimGrid's).
  [[nodiscard]] double next_date();
  void advance_to(double now);

  /// Lets kernels start and end that are due before anything that more than one rank sees: the owner of the
  /// clock need not know of them. Only where actors are objects.
  void pass_ticks();

  /// A transfer has ended, for networks whose completions SimGrid announces.
  void transfer_ended(TransferId transfer, double date);

  /// A transfer is under way or about to be: with `flows` only SimGrid knows when it ends.
  [[nodiscard]] bool is_transferring() const { return transfers_.size() > free_transfers_.size(); }

  [[nodiscard]] bool finished() const;
  void finish();  ///< sweeps meters, flushes the timeline

  [[nodiscard]] const Job& job() const { return job_; }
  /// Ranks that are simulated, in order of their numbers.
  [[nodiscard]] const std::deque<Rank>& ranks() const { return ranks_; }
  [[nodiscard]] std::deque<Rank>& ranks() { return ranks_; }
  /// The one that is simulated for @p number.
  [[nodiscard]] const Rank& rank_for(std::uint32_t number) const { return ranks_[index_of(number)]; }
  [[nodiscard]] const CompiledProgram& compiled_of(std::uint32_t number) const {
    return spec_.compiled[spec_.compiled_of_rank[number]];
  }
  [[nodiscard]] const RankTiming& timing_of(std::uint32_t number) const {
    return spec_.timings[spec_.timing_of_rank[number]];
  }
  [[nodiscard]] const RunContext& context() const { return context_; }
  [[nodiscard]] const ExecutorSpec& spec() const { return spec_; }
  /// Communicators in the order of Job::groups, then sends; when folded by Folding::groups().
  [[nodiscard]] const std::deque<Communicator>& communicators() const { return communicators_; }
  /// Sends by group, sending and receiving rank; when folded none.
  [[nodiscard]] const std::map<std::array<std::uint32_t, 3>, Communicator*>& pairs() const { return pairs_; }
  struct CopyUse {
    CollectivePlan plan;
    std::array<VertexId, 2> ends{};
    std::uint64_t uses = 0;
  };
  /// Copies by GPU, program and kernel.
  [[nodiscard]] const std::map<std::array<std::uint32_t, 3>, CopyUse*>& copies() const {
    return copy_plan_of_;
  }

  /// Moves actors to SimGrid: from now on whoever wakes one calls @p resume instead of Rank::run().
  void hand_over_actors(std::function<void(Rank&, unsigned actor)> resume) {
    context_.actors_in_simgrid = true;
    on_resume_ = std::move(resume);
  }

  /// Copies of a stream of a simulated rank, in order; only with ExecutorSpec::record_rendezvous.
  [[nodiscard]] const std::vector<RendezvousRecord>& copies_of(std::uint32_t number,
                                                               std::uint8_t stream) const {
    return copy_records_.at({number, stream});
  }

  // RankEnvironment
  Membership pair(const Rank& rank, const CollectiveCall& call) override;
  [[nodiscard]] MessageCarrier carrier_of(const ProcessGroup& group) const;
  void arrive(Rank& rank, std::uint8_t stream, const StreamItem& item, double date) override;
  void copy(Rank& rank, std::uint8_t stream, std::uint32_t kernel, double date) override;
  void call_at(Rank& rank, std::uint8_t stream, double date) override;
  [[nodiscard]] double now() const override { return now_; }
  void resume(Rank& rank, unsigned actor) override { on_resume_(rank, actor); }

 private:
  enum class Moment : std::uint8_t { TransferStart, CopyReady, Meet };
  struct Scheduled {
    double date;
    std::uint64_t order;
    TransferId subject;
    Moment what;
    bool operator<(const Scheduled& other) const {
      return date > other.date || (date == other.date && order > other.order);
    }
  };
  struct Tick {
    double date;
    std::uint64_t order;  // as Scheduled has it
    Rank* rank;
    std::uint8_t stream;
    bool operator<(const Tick& other) const {
      return date > other.date || (date == other.date && order > other.order);
    }
  };
  struct Transfer {
    Communicator* group = nullptr;  // null: a copy
    Meeting* meeting = nullptr;
    Rank* rank = nullptr;
    CopyUse* copy = nullptr;
    std::uint64_t engine = 0;
    Rendezvous taken;  // copies: when an engine took it, after which
    std::uint8_t stream = 0;
  };
  struct CopyEngines {
    int free = 1;
    std::deque<TransferId> queue;
  };

  void schedule(double date, Moment what, TransferId subject);
  void happen(const Scheduled& scheduled);
  void happen_next(double date);
  void tick();
  [[nodiscard]] double next_scheduled() const;
  [[nodiscard]] bool is_tick_next() const;
  TransferId new_transfer(const Transfer& transfer);
  void begin_copy(TransferId transfer, const Rendezvous& taken);
  void end_copy(const Transfer& transfer, double date);
  void end_collective(const Transfer& transfer, double date);
  CopyUse& copy_plan(const Rank& rank, std::uint32_t kernel);
  void prepare_plans();
  void prepare_groups();
  void prepare_pairs(Rank& rank);
  void make_ranks();
  void make_groups();
  void make_folded_groups();
  void limit_channels(Communicator& group) const;
  void make_meters();
  [[nodiscard]] std::size_t index_of(std::uint32_t number) const;

  const Job& job_;
  ExecutorSpec spec_;
  Network& network_;
  RunContext context_;
  std::unique_ptr<TimelineBuffer> timeline_;
  std::deque<Communicator> communicators_;  // by Job::groups, then pairs; addresses are kept
  std::map<std::array<std::uint32_t, 3>, Communicator*> pairs_;
  std::deque<Rank> ranks_;
  std::vector<Scheduled> heap_;
  std::vector<Tick> ticks_;  // apart, because they are many and touch one rank only
  std::uint64_t order_ = 0;
  std::vector<Transfer> transfers_;
  std::vector<TransferId> free_transfers_;
  std::unordered_map<std::uint64_t, CopyEngines>
      engines_;  // by GPU and direction; endless for what needs none
  std::map<std::array<std::uint32_t, 3>, CopyUse*> copy_plan_of_;
  std::list<CopyUse> copy_plans_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::vector<RendezvousRecord>>
      copy_records_;  // by rank and stream
  double now_ = 0;
  std::function<void(Rank&, unsigned)> on_resume_;
};

}  // namespace lockstep
