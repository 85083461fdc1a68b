#include "traces/chakra/graph_program.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace lockstep::chakra {
namespace {

constexpr std::uint32_t kNone = ~0U;
constexpr std::array<const char*, 2> kStreams{"compute", "communication"};

/// Which dependencies need an event. Of what a node depends on in the other stream, the latest implies the
/// rest; and what its own stream has waited for before is over.
class Waits {
 public:
  explicit Waits(const TraceGraph& graph) : wait_(graph.size(), kNone), waiters_(graph.size(), 0) {
    std::array<std::uint32_t, 2> seen{};  // by waiting stream: nodes before this one are over in the other
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      const unsigned stream = graph.is_collective(node) ? 1 : 0;
      std::uint32_t latest = kNone;
      for (std::uint32_t i = graph.first_dependency[node]; i < graph.first_dependency[node + 1]; ++i) {
        const std::uint32_t needed = graph.dependencies[i];
        if (graph.is_collective(needed) != graph.is_collective(node) && needed >= seen[stream] &&
            (latest == kNone || needed > latest)) {
          latest = needed;
        }
      }
      if (latest != kNone) {
        seen[stream] = latest + 1;
        wait_[node] = latest;
        ++waiters_[latest];
      }
    }
  }

  /// The node whose event @p node waits for, or kNone.
  [[nodiscard]] std::uint32_t of(std::uint32_t node) const { return wait_[node]; }
  /// How many nodes wait for the event of @p node.
  [[nodiscard]] std::uint32_t& waiters(std::uint32_t node) { return waiters_[node]; }

 private:
  std::vector<std::uint32_t> wait_;     // by node
  std::vector<std::uint32_t> waiters_;  // by node
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

/// Collectives that the graph calls, numbered in the order of their first call.
class Calls {
 public:
  Calls(const TraceTables& tables, const std::vector<std::uint32_t>& group_sizes)
      : tables_{tables}, group_sizes_{group_sizes} {}

  std::uint32_t number(std::uint32_t call) {
    const auto [entry, fresh] = known_.try_emplace(call, static_cast<std::uint32_t>(calls_.size()));
    if (fresh) {
      const TraceTables::Call& made = tables_.call(call);
      calls_.push_back(collective_call(made, group_sizes_[made.group]));
    }
    return entry->second;
  }
  std::vector<CollectiveCall> take() && { return std::move(calls_); }

 private:
  const TraceTables& tables_;
  const std::vector<std::uint32_t>& group_sizes_;
  std::map<std::uint32_t, std::uint32_t> known_;
  std::vector<CollectiveCall> calls_;
};

Instruction instruction(Opcode op, unsigned stream, std::uint32_t operand, bool per_rank = false) {
  return {.op = op, .stream = static_cast<std::uint8_t>(stream), .per_rank = per_rank, .operand = operand};
}

}  // namespace

Program program_of(const TraceGraph& graph, const TraceTables& tables, ComputeNodes compute,
                   const std::vector<std::uint32_t>& group_sizes) {
  Waits waits{graph};
  Events events;
  Calls calls{tables, group_sizes};
  std::vector<Instruction> code;
  std::uint32_t computed = 0;
  std::uint32_t slots = 0;
  unsigned streams = 1;
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    const bool is_collective = graph.is_collective(node);
    const unsigned stream = is_collective ? 1 : 0;
    streams = std::max(streams, stream + 1);
    if (const std::uint32_t needed = waits.of(node); needed != kNone) {
      const bool is_last = --waits.waiters(needed) == 0;
      code.push_back(instruction(Opcode::StreamWait, stream, events.wait(needed, is_last)));
    }
    if (is_collective) {
      code.push_back(instruction(Opcode::Collective, stream, calls.number(graph.call(node))));
    } else {
      const bool differs = compute.differs[computed];
      code.push_back(
          instruction(Opcode::Launch, stream, differs ? slots++ : compute.kernel[computed], differs));
      ++computed;
    }
    if (waits.waiters(node) > 0) {
      code.push_back(instruction(Opcode::RecordEvent, stream, events.record(node)));
    }
  }
  code.push_back(instruction(Opcode::WaitDevice, 0, 0));
  code.shrink_to_fit();
  Program program;
  program.threads.push_back({"main", std::move(code)});
  program.streams.assign(kStreams.begin(), kStreams.begin() + streams);
  for (const std::string& group : graph.groups) {
    program.groups.push_back(group.empty() ? "world" : group);
  }
  program.kernels = std::move(compute.kernels);
  program.collectives = std::move(calls).take();
  program.events = events.count();
  return program;
}

}  // namespace lockstep::chakra
