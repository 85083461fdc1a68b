#pragma once

/// @file
/// Ranks that do the same at the same time are simulated once.

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/folding/equitable_partition.hpp"
#include "sim/folding/job_traffic.hpp"

namespace lockstep {

/// A job with one rank for each class of alike ranks (its lowest), one communicator for each class of alike
/// groups and one link for each class of alike links.
///
/// Why that is exact. Take a partition as equitable_partition() gives it, and suppose that until some date
/// all members of each class have done the same at the same dates. What a rank does next follows from its
/// program, its timing and the ends of its collectives and copies, all equal within its class. A collective
/// of a group meets when its last member arrives; alike groups have members of the same classes, so they meet
/// together. Rates are found by progressive filling: in every round the level of a link is
///
///     (bandwidth - sum of weight x rate over transfers with a rate) / sum of weights of those without
///
/// and alike links have alike sums, so they fill in the same round, and alike transfers, which cross alike
/// links, get their rates there. Hence all members of a class go on alike. In the folded job the
/// representative of a class of links bears, for each class of groups, the loads of all its groups that cross
/// that link: the same sums, to the last bit, because sums of LinkWeights are exact.
///
/// A lone group meets nobody on its links, so these need not be alike for it: it bears loads of its own that
/// tell its rate alone.
class Folding {
 public:
  /// A class of groups.
  struct Group {
    std::uint32_t original = 0;        ///< its lowest member, index into JobTraffic::groups
    std::vector<std::uint32_t> ranks;  ///< who has to arrive: a representative for all that are alike
    /// Plans by TrafficGroup::calls. Their loads are those of the representative links, an entry for each
    /// group of the class that crosses one.
    std::vector<CollectivePlan> plans;
  };
  struct Seat {
    std::uint32_t group = 0;     ///< index into groups()
    std::uint32_t position = 0;  ///< in Group::ranks
  };

  /// @param rank_kinds by rank: differs between ranks that are unlike by themselves
  /// @param share_links false: transfers do not share links (`network: alone`)
  Folding(const Job& job, const Fabric& fabric, JobTraffic traffic,
          const std::vector<std::uint32_t>& rank_kinds, bool share_links);

  [[nodiscard]] const JobTraffic& traffic() const { return traffic_; }
  /// The lowest rank of each class; by class.
  [[nodiscard]] const std::vector<std::uint32_t>& representatives() const { return classes_.ranks.first; }
  [[nodiscard]] std::uint32_t class_of(std::uint32_t rank) const { return classes_.ranks.of[rank]; }
  [[nodiscard]] std::uint32_t class_of_group(std::size_t group) const { return classes_.groups.of[group]; }
  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }

  /// The seat of a representative for a slot of its groups.
  [[nodiscard]] Seat seat(std::uint32_t rank, std::uint32_t slot) const;
  /// The class of a send.
  [[nodiscard]] std::uint32_t pair(std::uint32_t group, std::uint32_t source, std::uint32_t target) const {
    return class_of_group(traffic_.pair_of.at({group, source, target}));
  }

  /// Whether @p link stands for its class: it bears all that its members bear, others at most lone groups.
  [[nodiscard]] bool represents(LinkId link) const {
    return classes_.links.first[classes_.links.of[link]] == link;
  }

  /// Loads of the representative links by the copies of a representative and of all ranks like it.
  [[nodiscard]] std::vector<LinkLoad> copy_loads(std::uint32_t rank, Memcpy::Path path) const;

  /// The first member of @p group, which is no pair, that is like @p rank in the group of its @p slot.
  [[nodiscard]] std::uint32_t member_like(std::uint32_t rank, std::uint32_t slot,
                                          const TrafficGroup& group) const;

 private:
  /// Members that arrive together: rank class and slot.
  using Kind = std::pair<std::uint32_t, std::uint32_t>;
  using Loads = std::map<LinkId, double>;

  [[nodiscard]] Kind kind_of(std::uint32_t rank, std::uint32_t group) const;
  void seat_groups();
  /// The loads of representative links, and one for each bandwidth and share: they tell the rate alone.
  [[nodiscard]] std::vector<LinkLoad> lone_loads(const std::vector<LinkLoad>& loads,
                                                 const Fabric& fabric) const;
  void load_groups(const Fabric& fabric, bool share_links);
  void load_copies(bool share_links);

  const Job& job_;
  JobTraffic traffic_;
  EquitablePartition classes_;
  std::vector<Group> groups_;
  std::vector<std::map<Kind, std::uint32_t>> positions_;  // by class of groups
  std::vector<std::array<Loads, 2>> copy_loads_;          // by class of ranks: to the device, to the host
};

}  // namespace lockstep
