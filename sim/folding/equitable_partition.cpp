#include "sim/folding/equitable_partition.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>

#include "sim/folding/digest.hpp"

namespace lockstep {
namespace {

struct DigestHash {
  std::size_t operator()(const Digest& digest) const { return digest.hash(); }
};

Classes classes_of(const std::vector<Digest>& digests) {
  Classes classes;
  classes.of.reserve(digests.size());
  std::unordered_map<Digest, std::uint32_t, DigestHash> known;
  for (std::uint32_t member = 0; member < digests.size(); ++member) {
    const auto [entry, fresh] =
        known.try_emplace(digests[member], static_cast<std::uint32_t>(classes.first.size()));
    if (fresh) {
      classes.first.push_back(member);
    }
    classes.of.push_back(entry->second);
  }
  return classes;
}

/// The first slot of @p rank that holds @p group: its place in the group is the same for all of them.
std::uint32_t slot_of(const RankAssignment& rank, std::uint32_t group) {
  return static_cast<std::uint32_t>(std::ranges::find(rank.groups, group) - rank.groups.begin());
}

Digest digest_of(std::string_view text) {
  Digest digest;
  for (const char letter : text) {
    digest.append(static_cast<std::uint64_t>(static_cast<unsigned char>(letter)));
  }
  return digest;
}

class Refinement {
 public:
  Refinement(const Job& job, const Fabric& fabric, const JobTraffic& traffic,
             const std::vector<std::uint32_t>& rank_kinds, bool share_links)
      : job_{job}, traffic_{traffic}, share_links_{share_links} {
    start_ranks(rank_kinds);
    start_groups();
    start_links(fabric);
  }

  EquitablePartition run() {
    for (std::size_t told_apart = 0; told_apart != count();) {
      told_apart = count();
      refine_groups();
      refine_ranks();
      if (share_links_) {
        refine_links();
      }
    }
    return {std::move(ranks_), std::move(groups_), std::move(links_)};
  }

 private:
  [[nodiscard]] std::size_t count() const { return ranks_.count() + groups_.count() + links_.count(); }

  void start_ranks(const std::vector<std::uint32_t>& kinds) {
    std::vector<Digest> digests;
    for (std::size_t rank = 0; rank < job_.ranks.size(); ++rank) {
      const RankAssignment& assignment = job_.ranks[rank];
      Digest& digest = digests.emplace_back().append(std::uint64_t{kinds[rank]});
      for (const std::uint32_t group : assignment.groups) {
        digest.append(std::uint64_t{slot_of(assignment, group)});
      }
      digest.append(std::uint64_t{traffic_.pairs[rank].size()});
      for (const TrafficPair& pair : traffic_.pairs[rank]) {
        digest.append(std::uint64_t{pair.place}).append(std::uint64_t{pair.position});
      }
    }
    ranks_ = classes_of(digests);
  }

  void start_groups() {
    std::vector<Digest> digests;
    for (const TrafficGroup& group : traffic_.groups) {
      Digest& digest = digests.emplace_back();
      digest.append(std::uint64_t{group.is_pair}).append(std::uint64_t{group.ranks.size()});
      for (const std::vector<std::uint32_t>& places : group.places) {
        digest.append(std::uint64_t{places.size()});
        for (const std::uint32_t place : places) {
          digest.append(std::uint64_t{place});
        }
      }
      for (const TrafficCall& call : group.calls) {
        digest.append(static_cast<std::uint64_t>(call.request.kind))
            .append(static_cast<std::uint64_t>(call.request.type))
            .append(call.request.size.in_base_units())
            .append(static_cast<std::uint64_t>(call.request.root))
            .append(digest_of(call.plan.algorithm))
            .append(digest_of(call.plan.protocol))
            .append(call.plan.size.in_base_units())
            .append(call.plan.latency.in_base_units())
            .append(call.plan.rate_cap.in_base_units())
            .append(std::uint64_t{call.shape});
      }
      for (const TrafficShape& shape : group.shapes) {
        digest.append(shape.unit).append(std::uint64_t{shape.loads.size()}).append(shape.fastest);
      }
    }
    groups_ = classes_of(digests);
  }

  void start_links(const Fabric& fabric) {
    std::vector<Digest> digests;
    for (const Link& link : fabric.links()) {
      digests.emplace_back().append(link.bandwidth.in_base_units());
    }
    links_ = classes_of(digests);
  }

  /// Shapes that others may meet on links: none of a lone group, which tells no links apart.
  [[nodiscard]] static std::span<const TrafficShape> shared(const TrafficGroup& group) {
    return group.is_lone ? std::span<const TrafficShape>{} : group.shapes;
  }

  void refine_groups() {
    std::vector<std::uint32_t> seen_in(ranks_.count() * kMostSlots, ~0U);
    std::vector<Digest> digests;
    for (std::uint32_t index = 0; index < traffic_.groups.size(); ++index) {
      const TrafficGroup& group = traffic_.groups[index];
      Digest& digest = digests.emplace_back().append(std::uint64_t{groups_.of[index]});
      append_members(digest, group, index, seen_in);
      for (const TrafficShape& shape : shared(group)) {
        Digest loads;
        for (const LinkLoad& load : shape.loads) {
          loads.add(Digest{}.append(std::uint64_t{links_.of[load.link]}).append(load.share));
        }
        digest.append(loads);
      }
    }
    groups_ = classes_of(digests);
  }

  /// How many of each class, and in which order the classes are first met.
  void append_members(Digest& digest, const TrafficGroup& group, std::uint32_t index,
                      std::vector<std::uint32_t>& seen_in) const {
    Digest members;
    for (const std::uint32_t rank : group.ranks) {
      const std::uint64_t slot = group.is_pair ? 0 : slot_of(job_.ranks[rank], group.group);
      const std::uint64_t colour = ranks_.of[rank];
      members.add(Digest{}.append(colour).append(slot));
      std::uint32_t& seen = seen_in[colour * kMostSlots + std::min(slot, kMostSlots - 1)];
      if (seen != index || group.is_pair) {
        seen = index;
        digest.append(colour).append(slot);
      }
    }
    digest.append(members);
  }

  void refine_ranks() {
    std::vector<Digest> digests;
    for (std::size_t rank = 0; rank < job_.ranks.size(); ++rank) {
      Digest& digest = digests.emplace_back().append(std::uint64_t{ranks_.of[rank]});
      for (const std::uint32_t group : job_.ranks[rank].groups) {
        digest.append(std::uint64_t{groups_.of[group]});
      }
      for (const TrafficPair& pair : traffic_.pairs[rank]) {
        digest.append(std::uint64_t{groups_.of[pair.group]});
      }
      for (const auto* route : {&traffic_.copies[rank].to_device, &traffic_.copies[rank].to_host}) {
        Digest links;
        if (*route) {
          for (const LinkId link : (*route)->links) {
            links.add(Digest{}.append(std::uint64_t{links_.of[link]}));
          }
        }
        digest.append(links);
      }
    }
    ranks_ = classes_of(digests);
  }

  void refine_links() {
    std::vector<Digest> users(links_.of.size());
    for (std::size_t index = 0; index < traffic_.groups.size(); ++index) {
      const std::span<const TrafficShape> shapes = shared(traffic_.groups[index]);
      for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
        for (const LinkLoad& load : shapes[shape].loads) {
          users[load.link].add(Digest{}
                                   .append(std::uint64_t{groups_.of[index]})
                                   .append(std::uint64_t{shape + 2})
                                   .append(load.share));
        }
      }
    }
    for (std::size_t rank = 0; rank < job_.ranks.size(); ++rank) {
      std::uint64_t direction = 0;
      for (const auto* route : {&traffic_.copies[rank].to_device, &traffic_.copies[rank].to_host}) {
        if (*route) {
          for (const LinkId link : (*route)->links) {
            users[link].add(Digest{}.append(std::uint64_t{ranks_.of[rank]}).append(direction));
          }
        }
        ++direction;
      }
    }
    for (std::size_t link = 0; link < users.size(); ++link) {
      users[link].append(std::uint64_t{links_.of[link]});
    }
    links_ = classes_of(users);
  }

  static constexpr std::uint64_t kMostSlots = 16;  // for the order of first meetings; more share one

  const Job& job_;
  const JobTraffic& traffic_;
  const bool share_links_;
  Classes ranks_;
  Classes groups_;
  Classes links_;
};

}  // namespace

EquitablePartition equitable_partition(const Job& job, const Fabric& fabric, const JobTraffic& traffic,
                                       const std::vector<std::uint32_t>& rank_kinds, bool share_links) {
  return Refinement{job, fabric, traffic, rank_kinds, share_links}.run();
}

}  // namespace lockstep
