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
      Ends& ends = channels[channel_of(ranks_[of].rank, id(place), call(place), files_)];
      (sends ? ends.sends : ends.receives).push_back(place);
    }
  }

  [[nodiscard]] std::vector<MessageEnd> described(const std::vector<Place>& places) const {
    std::vector<MessageEnd> ends;
    for (const Place& place : places) {
      ends.push_back({id(place), call(place).size});
    }
    return ends;
  }

  void meet(const Channel& channel, const Ends& ends) {
    expect_pairs(channel, described(ends.sends), described(ends.receives), files_);
    for (std::size_t k = 0; k < ends.sends.size(); ++k) {
      messages_.emplace_back(ends.sends[k], ends.receives[k]);
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

  /// Takes always a node that is earliest in its trace among those that can go on (Kahn's algorithm).
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

Channel channel_of(std::uint32_t rank, std::uint64_t node, const TraceTables::Call& call,
                   const TraceFiles& files) {
  const bool sends = call.kind == CollectiveKind::Send;
  const std::uint32_t own = sends ? call.source : call.target;
  const std::uint32_t peer = peer_of(call);
  const auto reject = [&](const std::string& why) {
    throw InputError{
        {files.path(rank).string()},
        fmt::format("node {} of rank {} is a {} {}", node, rank, sends ? "send" : "receive", why)};
  };
  if (own != TraceTables::kItself && own != rank) {
    reject(fmt::format("of rank {} ({}): a rank's trace has its own messages", own,
                       sends ? "comm_src" : "comm_dst"));
  }
  if (peer >= files.ranks()) {
    reject(
        fmt::format("{} rank {}: the job has ranks 0 to {}", sends ? "to" : "from", peer, files.ranks() - 1));
  }
  if (peer == rank) {
    reject(fmt::format("{} itself", sends ? "to" : "from"));
  }
  return sends ? Channel{rank, peer, call.tag} : Channel{peer, rank, call.tag};
}

void expect_pairs(const Channel& channel, std::span<const MessageEnd> sends,
                  std::span<const MessageEnd> receives, const TraceFiles& files) {
  const auto [source, target, tag] = channel;
  const std::string sender = files.path(source).string();
  const std::string receiver = files.path(target).string();
  const std::size_t pairs = std::min(sends.size(), receives.size());
  if (pairs < sends.size()) {
    throw InputError{
        {sender},
        fmt::format("rank {} sends {} messages with tag {} to rank {} ({}), which receives {} of them: "
                    "node {} has no receive",
                    source, sends.size(), tag, target, receiver, pairs, sends[pairs].node)};
  }
  if (pairs < receives.size()) {
    throw InputError{
        {receiver},
        fmt::format("rank {} receives {} messages with tag {} from rank {} ({}), which sends {} of them: "
                    "node {} has no send",
                    target, receives.size(), tag, source, sender, pairs, receives[pairs].node)};
  }
  for (std::size_t k = 0; k < pairs; ++k) {
    if (sends[k].size != receives[k].size) {
      throw InputError{
          {sender},
          fmt::format("message {} with tag {} from rank {} to rank {} is {} B (node {}), but {} receives "
                      "{} B (node {})",
                      k + 1, tag, source, target, sends[k].size, sends[k].node, receiver, receives[k].size,
                      receives[k].node)};
    }
  }
}

void meet_messages(std::span<MessagingRank> ranks, const TraceTables& tables, const TraceFiles& files) {
  Meeting{ranks, tables, files}.run();
}

}  // namespace lockstep::chakra
