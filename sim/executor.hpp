#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "ops/job.hpp"
#include "sim/agenda.hpp"
#include "sim/executor_spec.hpp"
#include "sim/host_copies.hpp"
#include "sim/job_communicators.hpp"
#include "sim/network/network.hpp"
#include "sim/rank.hpp"

namespace lockstep {

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
  [[nodiscard]] const JobCommunicators& communicators() const { return communicators_; }
  [[nodiscard]] const HostCopies& copies() const { return copies_; }

  /// Moves actors to SimGrid: from now on whoever wakes one calls @p resume instead of Rank::run().
  void hand_over_actors(std::function<void(Rank&, unsigned actor)> resume) {
    context_.actors_in_simgrid = true;
    on_resume_ = std::move(resume);
  }

  // RankEnvironment
  Membership pair(const Rank& rank, const CollectiveCall& call) override {
    return communicators_.pair(rank, call);
  }
  void arrive(Rank& rank, std::uint8_t stream, const StreamItem& item, double date) override;
  void copy(Rank& rank, std::uint8_t stream, std::uint32_t kernel, double date) override;
  void call_at(Rank& rank, std::uint8_t stream, double date) override { agenda_.call_at(date, rank, stream); }
  [[nodiscard]] double now() const override { return now_; }
  void resume(Rank& rank, unsigned actor) override { on_resume_(rank, actor); }

 private:
  struct Transfer {
    Communicator* group = nullptr;  // null: a copy
    Meeting* meeting = nullptr;
    Rank* rank = nullptr;
    HostCopies::Use* copy = nullptr;
    HostCopies::EngineId engine = 0;
    Rendezvous taken;  // copies: when an engine took it, after which
    std::uint8_t stream = 0;
  };

  void make_ranks();
  void make_meters();
  void prepare_copies();
  void happen(const Agenda::Entry& entry);
  void happen_next(double date);
  void tick();
  TransferId new_transfer(const Transfer& transfer);
  void begin_copy(TransferId transfer, const Rendezvous& taken);
  void end_copy(const Transfer& transfer, double date);
  void end_collective(const Transfer& transfer, double date);
  [[nodiscard]] std::size_t index_of(std::uint32_t number) const;

  const Job& job_;
  ExecutorSpec spec_;
  Network& network_;
  RunContext context_;
  std::unique_ptr<TimelineBuffer> timeline_;
  std::deque<Rank> ranks_;
  JobCommunicators communicators_;
  HostCopies copies_;
  Agenda agenda_;
  std::vector<Transfer> transfers_;
  std::vector<TransferId> free_transfers_;
  double now_ = 0;
  std::function<void(Rank&, unsigned)> on_resume_;
};

}  // namespace lockstep
