#include "traces/chakra/graph_program.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "traces/chakra/messages.hpp"
#include "traces/chakra/node_streams.hpp"

namespace lockstep::chakra {
namespace {

/// An item on a stream, in the order of the Program: posts of receives, then all other nodes.
using Item = std::uint32_t;

/// Finds the dependencies that need an event. Of an item's dependencies in another stream the latest implies
/// the rest. What its own stream has waited for before is over. A receive is no item of its own: whoever
/// waits for it waits for its post and for what it waits for.
class Waits {
 public:
  Waits(const TraceGraph& graph, const NodeStreams& streams, const std::vector<std::uint32_t>& posts)
      : graph_{graph}, streams_{streams}, posts_{static_cast<Item>(posts.size())} {
    waiters_.assign(posts.size() + graph.size(), 0);
    seen_.assign(streams.count(), std::vector<Item>(streams.count(), 0));
    for (Item post = 0; post < posts.size(); ++post) {
      receives_[posts[post]] = {{streams.of(posts[post]), post}};
    }
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      first_.push_back(static_cast<std::uint32_t>(waits_.size()));
      find(node);
    }
    first_.push_back(static_cast<std::uint32_t>(waits_.size()));
  }

  /// The items whose events @p node waits for.
  [[nodiscard]] std::span<const Item> of(std::uint32_t node) const {
    return std::span{waits_}.subspan(first_[node], first_[node + 1] - first_[node]);
  }
  /// How many nodes wait for the event of @p item.
  [[nodiscard]] std::uint32_t& waiters(Item item) { return waiters_[item]; }
  [[nodiscard]] Item item_of(std::uint32_t node) const { return posts_ + node; }

 private:
  /// The latest item of each stream, few of them.
  using Latest = std::vector<std::pair<std::uint32_t, Item>>;

  void find(std::uint32_t node) {
    needed_.clear();
    const std::uint32_t own = receives_.contains(node) ? kNone : streams_.of(node);
    for (std::uint32_t i = graph_.first_dependency[node]; i < graph_.first_dependency[node + 1]; ++i) {
      const std::uint32_t other = graph_.dependencies[i];
      if (const auto receive = receives_.find(other); receive != receives_.end()) {
        for (const auto& [stream, item] : receive->second) {
          need(needed_, stream, item);
        }
      } else if (streams_.of(other) != own) {
        need(needed_, streams_.of(other), item_of(other));
      }
    }
    if (const auto receive = receives_.find(node); receive != receives_.end()) {
      for (const auto& [stream, item] : needed_) {
        need(receive->second, stream, item);
      }
      return;
    }
    for (const auto& [stream, item] : needed_) {
      if (stream != own && item >= seen_[own][stream]) {
        seen_[own][stream] = item + 1;
        waits_.push_back(item);
        ++waiters_[item];
      }
    }
  }

  static void need(Latest& latest, std::uint32_t stream, Item item) {
    const auto known = std::ranges::find(latest, stream, &Latest::value_type::first);
    if (known == latest.end()) {
      latest.emplace_back(stream, item);
    } else {
      known->second = std::max(known->second, item);
    }
  }

  static constexpr std::uint32_t kNone = ~0U;
  const TraceGraph& graph_;
  const NodeStreams& streams_;
  Item posts_;
  std::vector<std::vector<Item>> seen_;       // by waiting stream and other: items before this one are over
  std::map<std::uint32_t, Latest> receives_;  // by node
  Latest needed_;
  std::vector<std::uint32_t> first_;  // by node
  std::vector<Item> waits_;
  std::vector<std::uint32_t> waiters_;  // by item
};

/// Numbers of events, used again once nobody waits for them any more.
class Events {
 public:
  std::uint32_t record(std::uint32_t node) {
    const std::uint32_t event = free_.empty() ? count_++ : free_.back();
    if (!free_.empty()) {
      free_.pop_back();
    }
    return recorded_[node] = event;
  }
  std::uint32_t wait(std::uint32_t node, bool is_last) {
    const auto found = recorded_.find(node);
    const std::uint32_t event = found->second;
    if (is_last) {
      free_.push_back(event);
      recorded_.erase(found);
    }
    return event;
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  std::map<std::uint32_t, std::uint32_t> recorded_;  // by node; few at a time
  std::vector<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

CollectiveCall collective_call(const TraceTables::Call& call, std::uint32_t members) {
  // comm_size of an all-gather is what a rank puts in; ours is what all have in the end.
  const double parts = call.kind == CollectiveKind::AllGather ? members : 1;
  CollectiveCall made;
  made.kind = call.kind;
  made.group = call.group;
  made.size = Bytes{call.size * parts};
  return made;
}

/// Collectives and messages that the graph calls, numbered in the order of their first call.
class Calls {
 public:
  Calls(const TraceTables& tables, const RankCalls& of_rank) : tables_{tables}, of_rank_{of_rank} {}

  std::uint32_t number(std::uint32_t call) {
    const auto [entry, fresh] = known_.try_emplace(call, static_cast<std::uint32_t>(calls_.size()));
    if (fresh) {
      const TraceTables::Call& made = tables_.call(call);
      calls_.push_back(made.is_message() ? message(made)
                                         : collective_call(made, of_rank_.group_sizes[made.group]));
    }
    return entry->second;
  }
  [[nodiscard]] bool is_receive(const TraceGraph& graph, std::uint32_t node) const {
    return graph.is_collective(node) && tables_.call(graph.call(node)).kind == CollectiveKind::Receive;
  }
  std::vector<CollectiveCall> take() && { return std::move(calls_); }

 private:
  /// A receive holds no SMs: its buffer is there from the start, and no kernel waits for the message.
  [[nodiscard]] CollectiveCall message(const TraceTables::Call& call) const {
    const auto pair = std::ranges::find(of_rank_.pairs, peer_of(call), &RankCalls::Pair::peer);
    CollectiveCall made;
    made.kind = call.kind;
    made.group = static_cast<std::uint32_t>(of_rank_.group_sizes.size()) +
                 static_cast<std::uint32_t>(pair - of_rank_.pairs.begin());
    made.size = Bytes{call.size};
    made.peer = pair->position;
    if (call.kind == CollectiveKind::Receive) {
      made.sm_limit = 0;
    }
    return made;
  }

  const TraceTables& tables_;
  const RankCalls& of_rank_;
  std::map<std::uint32_t, std::uint32_t> known_;
  std::vector<CollectiveCall> calls_;
};

Instruction instruction(Opcode op, std::uint32_t stream, std::uint32_t operand, bool per_rank = false) {
  return {.op = op, .stream = static_cast<std::uint8_t>(stream), .per_rank = per_rank, .operand = operand};
}

class ProgramWriter {
 public:
  ProgramWriter(const TraceGraph& graph, const TraceTables& tables, const RankCalls& calls)
      : graph_{graph},
        streams_{graph, tables},
        waits_{graph, streams_, calls.posts},
        calls_{tables, calls},
        posts_{calls.posts} {}

  Program write(ComputeNodes compute) && {
    for (Item post = 0; post < posts_.size(); ++post) {
      call(posts_[post]);
      record(post, streams_.of(posts_[post]));
    }
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      if (!calls_.is_receive(graph_, node)) {
        issue(node, compute);
      }
    }
    put(Opcode::WaitDevice, 0, 0);
    code_.shrink_to_fit();
    Program program;
    program.threads.push_back({"main", std::move(code_)});
    program.streams = std::move(streams_).names();
    program.kernels = std::move(compute.kernels);
    program.collectives = std::move(calls_).take();
    program.events = events_.count();
    return program;
  }

 private:
  void issue(std::uint32_t node, const ComputeNodes& compute) {
    const std::uint32_t stream = streams_.of(node);
    for (const Item needed : waits_.of(node)) {
      const bool is_last = --waits_.waiters(needed) == 0;
      put(Opcode::StreamWait, stream, events_.wait(needed, is_last));
    }
    if (graph_.is_collective(node)) {
      call(node);
    } else {
      const bool differs = compute.differs[computed_];
      code_.push_back(
          instruction(Opcode::Launch, stream, differs ? slots_++ : compute.kernel[computed_], differs));
      ++computed_;
    }
    record(waits_.item_of(node), stream);
  }

  void call(std::uint32_t node) {
    put(Opcode::Collective, streams_.of(node), calls_.number(graph_.call(node)));
  }

  void record(Item item, std::uint32_t stream) {
    if (waits_.waiters(item) > 0) {
      put(Opcode::RecordEvent, stream, events_.record(item));
    }
  }

  void put(Opcode op, std::uint32_t stream, std::uint32_t operand) {
    code_.push_back(instruction(op, stream, operand));
  }

  const TraceGraph& graph_;
  NodeStreams streams_;
  Waits waits_;
  Calls calls_;
  const std::vector<std::uint32_t>& posts_;
  Events events_;
  std::vector<Instruction> code_;
  std::uint32_t computed_ = 0, slots_ = 0;
};

}  // namespace

Program program_of(const TraceGraph& graph, const TraceTables& tables, ComputeNodes compute,
                   const RankCalls& calls) {
  Program program = ProgramWriter{graph, tables, calls}.write(std::move(compute));
  for (const std::string& group : graph.groups) {
    program.groups.push_back(group.empty() ? "world" : group);
  }
  for (const RankCalls::Pair& pair : calls.pairs) {
    program.groups.push_back(pair.name);
  }
  return program;
}

}  // namespace lockstep::chakra
