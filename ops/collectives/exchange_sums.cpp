#include "ops/collectives/exchange_sums.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "ops/collectives/direct.hpp"

namespace lockstep {
namespace {

constexpr int kMostNodesOfMember = 32;
constexpr double kNoShare = 1e-15;  // what is left of a share by rounding

/// Bytes that a member still has to send or to receive.
struct Amount {
  int member = 0;
  double share = 0;
};

/// Senders and receivers between nodes that are matched with one another: of all members, or of one rail.
struct Exchange {
  std::vector<Amount> senders;    ///< by node
  std::vector<Amount> receivers;  ///< by node
};

/// The edges of the sums, each pair once.
class Sums {
 public:
  Sums(const CollectiveRequest& request, const GroupLayout& layout, bool relayed)
      : request_{request}, layout_{layout}, relayed_{relayed} {}

  std::vector<ChannelEdge> edges() {
    book_nodes();
    std::map<int, Exchange> exchanges = book_exchanges();
    for (auto& [number, exchange] : exchanges) {
      spread(exchange);
    }
    std::vector<ChannelEdge> edges;
    for (const auto& [pair, share] : share_) {
      if (share > kNoShare) {
        edges.push_back({pair.first, pair.second, share, 0});
      }
    }
    return edges;
  }

 private:
  [[nodiscard]] int node_of(int member) const { return layout_.node_of[static_cast<std::size_t>(member)]; }
  [[nodiscard]] int number_of(int member) const {
    return relayed_ ? layout_.number_of[static_cast<std::size_t>(member)] : 0;
  }

  void carry(int src, int dst, double share) {
    if (src != dst && share > 0) {
      share_[{src, dst}] += share;
    }
  }

  void book_nodes() {
    for (const std::vector<int>& node : layout_.nodes) {
      for (const int src : node) {
        for (const int dst : node) {
          if (src != dst) {
            carry(src, dst, pair_share(request_, layout_.members(), src, dst));
          }
        }
      }
    }
  }

  /// Bytes that @p src sends to members of other nodes with each number (all: number 0).
  std::map<int, double> sent_by(int src) const {
    std::map<int, double> sent;
    if (!request_.bytes.empty()) {
      for (int dst = 0; dst < layout_.members(); ++dst) {
        if (node_of(dst) != node_of(src)) {
          sent[number_of(dst)] += pair_share(request_, layout_.members(), src, dst);
        }
      }
      return sent;
    }
    for (const auto& [number, count] : counts_) {
      sent[number] = count / layout_.members();
    }
    for (const int near : layout_.nodes[static_cast<std::size_t>(node_of(src))]) {
      sent[number_of(near)] -= 1.0 / layout_.members();
    }
    return sent;
  }

  double received_by(int dst) const {
    if (request_.bytes.empty()) {
      const auto near = layout_.nodes[static_cast<std::size_t>(node_of(dst))].size();
      return (layout_.members() - static_cast<double>(near)) / layout_.members();
    }
    double received = 0;
    for (int src = 0; src < layout_.members(); ++src) {
      if (node_of(src) != node_of(dst)) {
        received += pair_share(request_, layout_.members(), src, dst);
      }
    }
    return received;
  }

  /// The way to the relays inside nodes is booked, too.
  std::map<int, Exchange> book_exchanges() {
    for (int member = 0; member < layout_.members(); ++member) {
      counts_[number_of(member)] += 1;
    }
    std::map<int, int> of_number;  // a member with it
    for (int member = 0; member < layout_.members(); ++member) {
      of_number[number_of(member)] = member;
    }
    std::map<int, Exchange> exchanges;
    for (const std::vector<int>& node : layout_.nodes) {
      std::map<std::pair<int, int>, double> out;  // by number and sender
      for (const int src : node) {
        for (const auto& [number, share] : sent_by(src)) {
          const int relay = relayed_ ? relay_to(src, number) : src;
          carry(src, relay, share);
          out[{number, relay}] += share;
        }
      }
      for (const auto& [who, share] : out) {
        exchanges[who.first].senders.push_back({who.second, share});
      }
      for (const int dst : node) {
        exchanges[number_of(dst)].receivers.push_back({dst, received_by(dst)});
      }
    }
    return exchanges;
  }

  /// relay_of() of a receiver with @p number on another node.
  int relay_to(int src, int number) const {
    for (const std::vector<int>& node : layout_.nodes) {
      for (const int dst : node) {
        if (node_of(dst) == node_of(src)) {
          break;
        }
        if (number_of(dst) == number) {
          return layout_.relay_of(src, dst);
        }
      }
    }
    return src;
  }

  /// Matches senders with receivers some nodes farther, an equal part of all amounts for each distance.
  void spread(const Exchange& exchange) {
    const auto nodes = static_cast<int>(layout_.nodes.size());
    const int distances = std::min(nodes - 1, kMostNodesOfMember);
    for (int i = 0; i < distances; ++i) {
      match(exchange, 1 + i * (nodes - 1) / distances, 1.0 / distances);
    }
  }

  void match(const Exchange& exchange, int distance, double part) {
    const auto nodes = static_cast<int>(layout_.nodes.size());
    std::vector<Amount> receivers = exchange.receivers;
    std::ranges::stable_sort(
        receivers, {}, [&](const Amount& to) { return (node_of(to.member) - distance + nodes) % nodes; });
    std::size_t first = 0;  // receivers before it have all
    for (const Amount& from : exchange.senders) {
      double left = from.share * part;
      while (first < receivers.size() && receivers[first].share * part <= kNoShare) {
        ++first;
      }
      for (std::size_t to = first; to < receivers.size() && left > kNoShare; ++to) {
        if (node_of(receivers[to].member) != node_of(from.member)) {
          const double share = std::min(left, receivers[to].share * part);
          carry(from.member, receivers[to].member, share);
          receivers[to].share -= share / part;
          left -= share;
        }
      }
      settle(from.member, receivers, left, part);
    }
  }

  /// Only receivers of the sender's own node are left: they take over what others have, which take this.
  void settle(int sender, std::vector<Amount>& receivers, double left, double part) {
    for (Amount& own : receivers) {
      for (auto edge = share_.begin(); edge != share_.end() && left > kNoShare && own.share * part > kNoShare;
           ++edge) {
        const auto [src, dst] = edge->first;
        const bool can_swap = node_of(src) != node_of(dst) && node_of(src) != node_of(own.member) &&
                              node_of(dst) != node_of(sender) && number_of(dst) == number_of(own.member);
        const double share = can_swap ? std::min({left, own.share * part, edge->second}) : 0;
        if (share > 0) {
          edge->second -= share;
          carry(src, own.member, share);
          carry(sender, dst, share);
          own.share -= share / part;
          left -= share;
        }
      }
    }
  }

  const CollectiveRequest& request_;
  const GroupLayout& layout_;
  bool relayed_;
  std::map<std::pair<int, int>, double> share_;
  std::map<int, double> counts_;  // of members, by number
};

}  // namespace

std::vector<ChannelEdge> exchange_by_sums(const CollectiveRequest& request, const GroupLayout& layout,
                                          bool relayed) {
  return Sums{request, layout, relayed}.edges();
}

}  // namespace lockstep
