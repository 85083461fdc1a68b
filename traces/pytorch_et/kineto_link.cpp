#include "traces/pytorch_et/kineto_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "traces/pytorch_et/thread_pairs.hpp"

namespace lockstep::pytorch_et {
namespace {

constexpr Oddity kUnlinkedNode{"node without an operator",
                               "of the execution trace, not found in the profile: recorded at another time, "
                               "or of an operator that one of the two leaves out"};
constexpr Oddity kUnlinkedOperator{
    "operator without a node",
    "of the profile, not found in the execution trace: its shapes and sizes are not known from there"};
constexpr Oddity kRepeated{"steps linked to one step",
                           "the profile has several steps for one of the execution trace: each is linked to "
                           "it, as if they were alike",
                           Severity::Guess};
constexpr Oddity kByOrder{"operators linked by order",
                          "ids do not match: aligned by names, in the order of calls of each thread",
                          Severity::Guess};
constexpr Oddity kByExternalId{"operators linked by external id",
                               "rf_id and External id differ by constants that equal names give away",
                               Severity::Guess};

constexpr double kEnough = 0.95;         // of the nodes: ids that find so many are the right ones
constexpr std::size_t kLeastAgreed = 8;  // equal names that a constant has to explain
constexpr std::size_t kRareName = 16;    // as often on a side: names whose ids are compared
constexpr int kMostConstants = 64;       // of a thread: External ids are handed out in blocks

using NodeOf = std::vector<std::int64_t>;

std::uint64_t count_linked(const NodeOf& node_of) {
  return static_cast<std::uint64_t>(std::ranges::count_if(node_of, [](auto node) { return node >= 0; }));
}

std::uint64_t count_nodes(const NodeOf& node_of) {
  NodeOf used = node_of;
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return count_linked(used);
}

bool same_name(const ExecutionTrace& trace, const Node& node, const kineto::RecordedTrace& profile,
               const kineto::Operator& call) {
  return trace.names.text(node.name) == profile.names.text(call.name);
}

NodeOf by_record_function_id(const ExecutionTrace& trace, const kineto::RecordedTrace& profile) {
  std::unordered_map<std::int64_t, std::int64_t> by_id;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    if (trace.nodes[i].rf_id > 0) {
      by_id.try_emplace(trace.nodes[i].rf_id, static_cast<std::int64_t>(i));
    }
  }
  NodeOf node_of(profile.operators.size(), -1);
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    const kineto::Operator& call = profile.operators[i];
    const auto known = call.record_function_id > 0 ? by_id.find(call.record_function_id) : by_id.end();
    if (known != by_id.end() &&
        same_name(trace, trace.nodes[static_cast<std::size_t>(known->second)], profile, call)) {
      node_of[i] = known->second;
    }
  }
  return node_of;
}

/// Finds constants c so that External id - c = rf_id, of one pair of threads, and links by them.
class ExternalIds {
 public:
  ExternalIds(const ExecutionTrace& trace, const kineto::RecordedTrace& profile, const ThreadPair& pair)
      : trace_{trace}, profile_{profile}, pair_{pair} {
    for (std::size_t i = 0; i < pair.nodes.calls.size(); ++i) {
      by_name_[pair.nodes.names[i]].push_back(pair.nodes.calls[i]);
      by_id_.try_emplace(trace.nodes[pair.nodes.calls[i]].rf_id, pair.nodes.calls[i]);
    }
  }

  void link(NodeOf& node_of) {
    for (int round = 0; round < kMostConstants; ++round) {
      const std::int64_t constant = most_agreed(node_of);
      if (link_by(constant, node_of) < kLeastAgreed) {
        return;
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t external_id(std::size_t call) const {
    return profile_.operators[call].external_id;
  }

  /// The difference of ids that most operators and nodes with the same, rare name have.
  std::int64_t most_agreed(const NodeOf& node_of) {
    std::unordered_map<std::int64_t, std::size_t> votes;
    std::int64_t best = 0;
    std::size_t most = 0;
    for (std::size_t i = 0; i < pair_.operators.calls.size(); ++i) {
      const std::size_t call = pair_.operators.calls[i];
      const auto nodes = by_name_.find(pair_.operators.names[i]);
      if (node_of[call] >= 0 || external_id(call) < 0 || nodes == by_name_.end() ||
          nodes->second.size() > kRareName) {
        continue;
      }
      for (const std::size_t node : nodes->second) {
        const std::int64_t constant = external_id(call) - trace_.nodes[node].rf_id;
        const std::size_t count = ++votes[constant];
        if (count > most) {
          most = count;
          best = constant;
        }
      }
    }
    return best;
  }

  std::size_t link_by(std::int64_t constant, NodeOf& node_of) {
    std::size_t found = 0;
    for (const std::size_t call : pair_.operators.calls) {
      const auto node = by_id_.find(external_id(call) - constant);
      if (node_of[call] < 0 && external_id(call) >= 0 && node != by_id_.end() &&
          same_name(trace_, trace_.nodes[node->second], profile_, profile_.operators[call])) {
        node_of[call] = static_cast<std::int64_t>(node->second);
        by_id_.erase(node);
        ++found;
      }
    }
    return found;
  }

  const ExecutionTrace& trace_;
  const kineto::RecordedTrace& profile_;
  const ThreadPair& pair_;
  std::unordered_map<Symbol, std::vector<std::size_t>> by_name_;
  std::unordered_map<std::int64_t, std::size_t> by_id_;  // of nodes that are not linked yet
};

void link_by_order(const ThreadPair& pair, NodeOf& node_of) {
  std::vector<Symbol> nodes;
  for (std::uint32_t step = 0; step < pair.repeats; ++step) {
    nodes.insert(nodes.end(), pair.nodes.names.begin(), pair.nodes.names.end());
  }
  for (const auto& [call, node] : aligned(pair.operators.names, nodes)) {
    node_of[pair.operators.calls[call]] =
        static_cast<std::int64_t>(pair.nodes.calls[node % pair.nodes.calls.size()]);
  }
}

/// Whether @p outer can be the caller of @p call, which begins later: in traces of whole microseconds what
/// took none encloses nothing.
bool encloses(const kineto::Operator& outer, const kineto::Operator& call) {
  return outer.thread == call.thread && outer.end >= call.end && outer.end > outer.start;
}

/// The operator around each, -1: none. Ranges that overlap without being nested are taken as they come.
std::vector<std::int64_t> callers(const kineto::RecordedTrace& profile) {
  std::vector<std::int64_t> caller(profile.operators.size(), -1);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    const kineto::Operator& call = profile.operators[i];
    if (!is_linkable(call, profile)) {
      continue;
    }
    while (!open.empty() && !encloses(profile.operators[open.back()], call)) {
      open.pop_back();
    }
    caller[i] = open.empty() ? -1 : static_cast<std::int64_t>(open.back());
    open.push_back(i);
  }
  return caller;
}

/// How many linked operators have a caller that is linked to their node's caller.
std::uint64_t same_callers(const ExecutionTrace& trace, const kineto::RecordedTrace& profile,
                           const NodeOf& node_of) {
  const std::vector<std::int64_t> caller = callers(profile);
  std::uint64_t same = 0;
  for (std::size_t i = 0; i < node_of.size(); ++i) {
    if (node_of[i] < 0) {
      continue;
    }
    const std::int64_t parent = trace.index_of(trace.nodes[static_cast<std::size_t>(node_of[i])].parent);
    const bool has_parent =
        parent >= 0 && !is_root(trace.names.text(trace.nodes[static_cast<std::size_t>(parent)].name));
    const std::int64_t expected = has_parent ? parent : -1;
    const std::int64_t found = caller[i] < 0 ? -1 : node_of[static_cast<std::size_t>(caller[i])];
    same += found == expected ? 1 : 0;
  }
  return same;
}

void count(const ExecutionTrace& trace, const kineto::RecordedTrace& profile, KinetoLink& link) {
  link.operators = static_cast<std::uint64_t>(std::ranges::count_if(
      profile.operators, [&](const kineto::Operator& call) { return is_linkable(call, profile); }));
  link.nodes = static_cast<std::uint64_t>(std::ranges::count_if(
      trace.nodes, [&](const Node& node) { return !is_root(trace.names.text(node.name)); }));
  link.linked = count_linked(link.node_of);
  link.linked_nodes = count_nodes(link.node_of);
  link.same_caller = same_callers(trace, profile, link.node_of);
}

bool has_enough(const KinetoLink& link) {
  return link.linked > 0 && static_cast<double>(link.linked_nodes) >=
                                kEnough * static_cast<double>(std::min(link.nodes, link.operators));
}

void tell(const ExecutionTrace& trace, const kineto::RecordedTrace& profile, const KinetoLink& link,
          ImportReport& report) {
  if (link.method == LinkMethod::Order) {
    report.add(kByOrder, "", link.linked);
  } else if (link.method == LinkMethod::ExternalId) {
    report.add(kByExternalId, "", link.linked);
  }
  if (link.repeats > 1) {
    report.add(kRepeated, "", link.repeats);
  }
  std::vector<bool> is_linked(trace.nodes.size());
  for (std::size_t i = 0; i < link.node_of.size(); ++i) {
    if (link.node_of[i] >= 0) {
      is_linked[static_cast<std::size_t>(link.node_of[i])] = true;
    } else if (is_linkable(profile.operators[i], profile)) {
      report.add(kUnlinkedOperator, profile.names.text(profile.operators[i].name));
    }
  }
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    if (const std::string& name = trace.names.text(trace.nodes[i].name); !is_linked[i] && !is_root(name)) {
      report.add(kUnlinkedNode, name);
    }
  }
}

}  // namespace

std::string_view to_string(LinkMethod method) {
  switch (method) {
    case LinkMethod::None:
      return "none";
    case LinkMethod::RecordFunctionId:
      return "record function id";
    case LinkMethod::ExternalId:
      return "external id minus a constant";
    case LinkMethod::Order:
      return "order of calls by thread";
  }
  return "";
}

double KinetoLink::confidence() const {
  if (linked == 0 || nodes == 0 || operators == 0) {
    return 0;
  }
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  return std::max(share(linked_nodes, nodes), share(linked, operators)) * share(same_caller, linked);
}

KinetoLink link_to_kineto(const ExecutionTrace& trace, const kineto::RecordedTrace& profile,
                          ImportReport& report) {
  KinetoLink ids;
  ids.method = LinkMethod::RecordFunctionId;
  ids.node_of = by_record_function_id(trace, profile);
  count(trace, profile, ids);
  if (has_enough(ids)) {
    tell(trace, profile, ids, report);
    return ids;
  }
  KinetoLink external;
  KinetoLink order;
  external.method = LinkMethod::ExternalId;
  order.method = LinkMethod::Order;
  external.node_of.assign(profile.operators.size(), -1);
  order.node_of.assign(profile.operators.size(), -1);
  for (const ThreadPair& pair : thread_pairs(trace, profile)) {
    ExternalIds{trace, profile, pair}.link(external.node_of);
    link_by_order(pair, order.node_of);
    order.repeats = std::max(order.repeats, pair.repeats);
  }
  count(trace, profile, external);
  count(trace, profile, order);
  const bool ids_are_good =
      order.repeats == 1 && has_enough(external) && external.confidence() >= order.confidence();
  KinetoLink& link = ids_are_good ? external : order;
  link.method = link.linked > 0 ? link.method : LinkMethod::None;
  tell(trace, profile, link, report);
  return std::move(link);
}

}  // namespace lockstep::pytorch_et
