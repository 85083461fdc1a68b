#include "traces/chakra/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "traces/chakra/graph_order.hpp"

namespace lockstep::chakra {
namespace {

/// A node of one of the ranks.
struct Place {
  std::uint32_t node = 0;
  std::uint32_t of = 0;  // index into the messaging ranks
  auto operator<=>(const Place&) const = default;
};

struct Channel {
  std::uint32_t source = 0, target = 0;
  std::int32_t tag = 0;
  auto operator<=>(const Channel&) const = default;
};

struct Ends {
  std::vector<Place> sends, receives;
};

class Meeting {
 public:
  Meeting(std::span<MessagingRank> ranks, const TraceTables& tables, const TraceFiles& files)
      : ranks_{ranks}, tables_{tables}, files_{files} {}

  void run() {
    std::map<Channel, Ends> channels;
    for (std::uint32_t of = 0; of < ranks_.size(); ++of) {
      first_.push_back(nodes_);
      nodes_ += ranks_[of].graph.size();
      collect(of, channels);
    }
    for (const auto& [channel, ends] : channels) {
      meet(channel, ends);
    }
    put_in_order();
  }

 private:
  [[nodiscard]] const TraceTables::Call& call(const Place& place) const {
    const TraceGraph& graph = ranks_[place.of].graph;
    return tables_.call(graph.call(place.node));
  }
  [[nodiscard]] std::uint64_t id(const Place& place) const { return ranks_[place.of].graph.ids[place.node]; }
  [[nodiscard]] std::size_t number(const Place& place) const { return first_[place.of] + place.node; }
  [[nodiscard]] std::string file(std::uint32_t rank) const { return files_.path(rank).string(); }

  void collect(std::uint32_t of, std::map<Channel, Ends>& channels) const {
    const TraceGraph& graph = ranks_[of].graph;
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      if (!graph.is_collective(node) || !tables_.call(graph.call(node)).is_message()) {
        continue;
      }
      const Place place{node, of};
      const bool sends = call(place).kind == CollectiveKind::Send;
      Ends& ends = channels[channel_of(place, sends)];
      (sends ? ends.sends : ends.receives).push_back(place);
    }
  }

  [[nodiscard]] Channel channel_of(const Place& place, bool sends) const {
    const std::uint32_t rank = ranks_[place.of].rank;
    const TraceTables::Call& said = call(place);
    const std::uint32_t own = sends ? said.source : said.target;
    const std::uint32_t peer = peer_of(said);
    const auto reject = [&](const std::string& why) {
      throw InputError{
          {file(rank)},
          fmt::format("node {} of rank {} is a {} {}", id(place), rank, sends ? "send" : "receive", why)};
    };
    if (own != TraceTables::kItself && own != rank) {
      reject(fmt::format("of rank {} ({}): a rank's trace has its own messages", own,
                         sends ? "comm_src" : "comm_dst"));
    }
    if (peer >= files_.ranks()) {
      reject(fmt::format("{} rank {}: the job has ranks 0 to {}", sends ? "to" : "from", peer,
                         files_.ranks() - 1));
    }
    if (peer == rank) {
      reject(fmt::format("{} itself", sends ? "to" : "from"));
    }
    return sends ? Channel{rank, peer, said.tag} : Channel{peer, rank, said.tag};
  }

  void meet(const Channel& channel, const Ends& ends) {
    const auto [source, target, tag] = channel;
    const std::size_t pairs = std::min(ends.sends.size(), ends.receives.size());
    if (pairs < ends.sends.size()) {
      throw InputError{
          {file(source)},
          fmt::format(
              "rank {} sends {} messages with tag {} to rank {} ({}), which receives {} of them: node {} has "
              "no receive",
              source, ends.sends.size(), tag, target, file(target), pairs, id(ends.sends[pairs]))};
    }
    if (pairs < ends.receives.size()) {
      throw InputError{{file(target)},
                       fmt::format("rank {} receives {} messages with tag {} from rank {} ({}), which sends "
                                   "{} of them: node {} has "
                                   "no send",
                                   target, ends.receives.size(), tag, source, file(source), pairs,
                                   id(ends.receives[pairs]))};
    }
    for (std::size_t k = 0; k < pairs; ++k) {
      const Place& send = ends.sends[k];
      const Place& receive = ends.receives[k];
      if (call(send).size != call(receive).size) {
        throw InputError{{file(source)},
                         fmt::format("message {} with tag {} from rank {} to rank {} is {} B (node {}), but "
                                     "{} receives {} B (node "
                                     "{})",
                                     k + 1, tag, source, target, call(send).size, id(send), file(target),
                                     call(receive).size, id(receive))};
      }
      messages_.emplace_back(send, receive);
    }
  }

  void add_edge(const Place& before, const Place& after) {
    users_[number(before)].push_back(after);
    ++waits_[number(after)];
  }

  void add_edges() {
    users_.resize(nodes_);
    waits_.assign(nodes_, 0);
    for (std::uint32_t of = 0; of < ranks_.size(); ++of) {
      const TraceGraph& graph = ranks_[of].graph;
      Place collective{0, kNobody};
      for (std::uint32_t node = 0; node < graph.size(); ++node) {
        for (std::uint32_t i = graph.first_dependency[node]; i < graph.first_dependency[node + 1]; ++i) {
          add_edge({graph.dependencies[i], of}, {node, of});
        }
        const Place place{node, of};
        if (graph.is_collective(node) && !call(place).is_message()) {
          if (collective.of != kNobody) {
            add_edge(collective, place);
          }
          collective = place;
        }
      }
    }
    for (const auto& [send, receive] : messages_) {
      add_edge(send, receive);
    }
  }

  /// Of all nodes that can go on, always one that is earliest in its trace (Kahn's algorithm).
  void put_in_order() {
    add_edges();
    std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
    for (std::uint32_t of = 0; of < ranks_.size(); ++of) {
      for (std::uint32_t node = 0; node < ranks_[of].graph.size(); ++node) {
        if (waits_[first_[of] + node] == 0) {
          ready.push({node, of});
        }
      }
    }
    std::vector<std::vector<std::uint32_t>> orders(ranks_.size());
    std::vector<std::size_t> moment(nodes_);
    for (std::size_t now = 0; !ready.empty(); ++now) {
      const Place place = ready.top();
      ready.pop();
      orders[place.of].push_back(place.node);
      moment[number(place)] = now;
      for (const Place& user : users_[number(place)]) {
        if (--waits_[number(user)] == 0) {
          ready.push(user);
        }
      }
    }
    expect_all(orders);
    post(moment, orders);
  }

  void expect_all(const std::vector<std::vector<std::uint32_t>>& orders) const {
    for (std::uint32_t of = 0; of < ranks_.size(); ++of) {
      if (orders[of].size() == ranks_[of].graph.size()) {
        continue;
      }
      const auto stuck = std::ranges::find_if(messages_, [&](const auto& message) {
        return message.second.of == of && waits_[number(message.second)] > 0;
      });
      const std::string first =
          stuck == messages_.end()
              ? ""
              : fmt::format(", such as node {}, which receives from rank {} with tag {}", id(stuck->second),
                            ranks_[stuck->first.of].rank, call(stuck->second).tag);
      throw InputError{
          {file(ranks_[of].rank)},
          fmt::format("messages wait for each other in a circle, so that {} nodes of rank {} never begin{}",
                      ranks_[of].graph.size() - orders[of].size(), ranks_[of].rank, first)};
    }
  }

  void post(const std::vector<std::size_t>& moment, const std::vector<std::vector<std::uint32_t>>& orders) {
    std::ranges::sort(messages_, {}, [&](const auto& message) { return moment[number(message.first)]; });
    std::vector<std::vector<std::uint32_t>> places(ranks_.size());  // by rank and old place: the new one
    for (std::uint32_t of = 0; of < ranks_.size(); ++of) {
      places[of].resize(orders[of].size());
      for (std::uint32_t i = 0; i < orders[of].size(); ++i) {
        places[of][orders[of][i]] = i;
      }
      reorder(ranks_[of].graph, orders[of]);
    }
    for (const auto& [send, receive] : messages_) {
      ranks_[receive.of].posts.push_back(places[receive.of][receive.node]);
    }
  }

  static constexpr std::uint32_t kNobody = ~0U;
  std::span<MessagingRank> ranks_;
  const TraceTables& tables_;
  const TraceFiles& files_;
  std::vector<std::size_t> first_;  // by rank: number of its first node
  std::size_t nodes_ = 0;
  std::vector<std::pair<Place, Place>> messages_;  // send, receive
  std::vector<std::vector<Place>> users_;          // by number
  std::vector<std::uint32_t> waits_;               // by number
};

}  // namespace

void meet_messages(std::span<MessagingRank> ranks, const TraceTables& tables, const TraceFiles& files) {
  Meeting{ranks, tables, files}.run();
}

}  // namespace lockstep::chakra
