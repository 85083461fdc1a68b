#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/collectives/collective_plan.hpp"
#include "sim/rendezvous.hpp"
#include "sim/stream.hpp"

namespace lockstep {

class Rank;

/// Says how a collective runs on the machine. @param members GPUs in group order
using PlanCollective =
    std::function<CollectivePlan(const CollectiveRequest&, std::span<const VertexId> members)>;

/// The planner's answer, or as it was recorded.
[[nodiscard]] CollectivePlan plan_of(const CollectiveRequest& request, std::span<const VertexId> gpus,
                                     const PlanCollective& plan_collective);

/// A send or a receive.
[[nodiscard]] bool is_pair(CollectiveKind kind);

/// A member that has arrived at a collective: its communication kernel runs from now on.
struct Arrival {
  Rank* rank = nullptr;
  const CollectiveCall* call = nullptr;
  double date = 0;
  std::uint32_t launch = 0;  ///< the how-manieth of the stream, over all steps
  std::uint8_t stream = 0;
};

/// One collective of a process group, from the first arrival to the end.
struct Meeting {
  std::uint32_t number = 0;  ///< the how-manieth of its communicator
  std::uint32_t arrived = 0;
  std::uint32_t last = 0;                ///< position of the latest arrival
  double met = 0;                        ///< date of the latest arrival
  const CollectiveCall* call = nullptr;  ///< of the latest arrival
  std::vector<Arrival> arrivals;         ///< by position; rank is null until it has arrived
  const CollectivePlan* plan = nullptr;
};

/// The request of a send or receive to the planner: in its two-member group, position 0 sends to position 1.
/// @param batch the communicator that carries it where it is batched
[[nodiscard]] CollectiveRequest pair_request(const CollectiveCall& call, const MessageCarrier& batch);

/// The request of a collective with equal parts to the planner.
[[nodiscard]] CollectiveRequest even_request(const CollectiveCall& call);

/// The rendezvous of a process group: the k-th collective that each member issues is the same collective.
class Communicator {
 public:
  /// @param gpus of all members, in group order
  /// @param ranks those who have to arrive, by position: all members, or one for all that are alike
  Communicator(std::string name, std::vector<VertexId> gpus, std::vector<std::uint32_t> ranks);

  /// Number of the next collective of a member, in the order in which its host issues them.
  std::uint32_t issue(std::uint32_t position) { return issued_[position]++; }

  /// @return the meeting when this arrival completes it, else null
  /// @throws StallError when the calls of two members do not match
  Meeting* arrive(std::uint32_t position, std::uint32_t number, const Arrival& arrival);

  /// The plan of a complete meeting; made once for equal calls.
  const CollectivePlan& plan(const Meeting& meeting, const PlanCollective& plan_collective);

  /// Makes the plan of a call that all members make alike, before the simulation starts.
  const CollectivePlan& plan(const CollectiveRequest& request, const PlanCollective& plan_collective);

  /// Takes a plan that was made elsewhere, of a request that has none yet.
  const CollectivePlan& adopt(const CollectiveRequest& request, CollectivePlan plan);

  void forget(const Meeting& meeting);

  void keep(std::uint32_t number, const RendezvousRecord& record);
  /// The record of the group's @p number-th collective, which has been kept.
  [[nodiscard]] const RendezvousRecord& record(std::uint32_t number) const { return records_[number]; }

  /// Says on how many SMs its kernels run at most; as many as the GPU gives them otherwise.
  void limit_sms(int most) { sm_limit_ = most; }
  [[nodiscard]] int sm_limit() const { return sm_limit_; }

  /// Sets what carries the messages of two members that send and receive, where these are batched.
  void carry_batches(const MessageCarrier& batch) { batch_ = batch; }
  [[nodiscard]] const MessageCarrier& batch() const { return batch_; }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<VertexId>& gpus() const { return gpus_; }
  [[nodiscard]] std::size_t size() const { return ranks_.size(); }
  [[nodiscard]] const std::vector<std::uint32_t>& ranks() const { return ranks_; }
  /// Collectives that some members have arrived at and that have not ended.
  [[nodiscard]] const std::vector<std::unique_ptr<Meeting>>& meetings() const { return meetings_; }

  /// Plans made so far and how often each was used, for link statistics.
  struct PlanUse {
    CollectiveRequest request;
    CollectivePlan plan;
    std::uint64_t uses = 0;
  };
  /// The plan that a call of this group ran with; of an uneven call, one of them. Null before its first run.
  [[nodiscard]] const CollectivePlan* find_plan(const CollectiveCall& call) const;
  [[nodiscard]] const std::list<PlanUse>& plans() const { return plans_; }

 private:
  void check_match(const Meeting& meeting, std::uint32_t position, const Arrival& arrival) const;
  [[nodiscard]] CollectiveRequest request_of(const Meeting& meeting) const;

  std::string name_;
  std::vector<VertexId> gpus_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::uint32_t> issued_;
  std::vector<std::unique_ptr<Meeting>> meetings_;  // few at a time
  std::vector<std::unique_ptr<Meeting>> spare_;
  std::vector<RendezvousRecord> records_;  // by number
  int sm_limit_ = std::numeric_limits<int>::max();
  MessageCarrier batch_;
  std::list<PlanUse> plans_;  // stable addresses: networks keep them
};

}  // namespace lockstep
