#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>

#include "ops/job.hpp"
#include "sim/communicator.hpp"
#include "sim/executor_spec.hpp"
#include "sim/network/network.hpp"
#include "sim/rank.hpp"

namespace lockstep {

/// All communicators of a Job: those of its process groups, and one for every two ranks that send and
/// receive. Of a folded job one for all groups that are alike.
class JobCommunicators {
 public:
  /// @param job, spec must outlive it
  JobCommunicators(const Job& job, const ExecutorSpec& spec) : job_{job}, spec_{spec} {}

  /// Makes those of groups and lets @p ranks, who are all that are simulated, join theirs. Networks compress
  /// what they know beforehand, so each even collective and each send is planned for @p network now.
  void make(std::deque<Rank>& ranks, Network& network);

  /// The communicator of two ranks: the caller's position is 0 where it sends. Made with the first call.
  [[nodiscard]] Membership pair(const Rank& rank, const CollectiveCall& call);

  /// In the order of Job::groups, then sends; when folded by Folding::groups().
  [[nodiscard]] const std::deque<Communicator>& all() const { return all_; }
  /// Sends by group, sending and receiving rank; when folded none.
  [[nodiscard]] const std::map<std::array<std::uint32_t, 3>, Communicator*>& pairs() const { return pairs_; }

 private:
  void make_groups(std::deque<Rank>& ranks);
  void make_folded_groups(std::deque<Rank>& ranks, Network& network);
  void prepare_groups(Network& network);
  void prepare_pairs(Rank& rank, Network& network);
  void limit_channels(Communicator& group) const;
  [[nodiscard]] std::vector<VertexId> gpus_of(const std::vector<std::uint32_t>& ranks) const;

  const Job& job_;
  const ExecutorSpec& spec_;
  std::deque<Communicator> all_;  // addresses are kept
  std::map<std::array<std::uint32_t, 3>, Communicator*> pairs_;
};

}  // namespace lockstep
