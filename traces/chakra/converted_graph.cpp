#include "traces/chakra/converted_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_map>

#include "base/error.hpp"
#include "traces/chakra/collective_kinds.hpp"
#include "traces/chakra/graph_order.hpp"

namespace lockstep::chakra {
namespace {

constexpr Oddity kMissingNode{"dependency on a missing node",
                              "converters delete nodes whose ids stay behind; nothing is waited for"};
constexpr Oddity kOwnNode{"node that depends on itself", "left out", Severity::Warning};
constexpr Oddity kCallers{"callers",
                          "ctrl_deps of host operators: the order of their thread says it already"};
constexpr Oddity kUnknownCollective{
    "collective without a kind that is simulated",
    "its comm_type or comm_size is missing, or it is a gather or scatter; it runs for its recorded time",
    Severity::Guess};
constexpr Oddity kOtherWork{
    "node of another type",
    "memory, or a send or receive that does not say its other end (comm_dst, comm_src) or "
    "size; it runs for its recorded time, without its partner",
    Severity::Guess};
constexpr Oddity kNoDuration{"nodes without a duration", "taken as 0: shorter than a microsecond"};

constexpr double kLongest = 1e15;  // us: 30 years

class GraphBuilder {
 public:
  explicit GraphBuilder(ConvertedTrace& trace) : trace_{trace} {
    graph_.first_dependency.assign(1, 0);
    for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) {
      by_id_.try_emplace(trace.nodes[i].id, i);
    }
  }

  ConvertedGraph build() && {
    for (std::uint32_t i = 0; i < trace_.nodes.size(); ++i) {
      if (trace_.nodes[i].type != NodeType::Metadata || trace_.nodes[i].is_cpu) {
        add(i);
      }
    }
    try {
      put_in_order(graph_, wanted_, {});
    } catch (const std::invalid_argument& problem) {
      throw InputError{{trace_.file}, problem.what()};
    }
    return result();
  }

 private:
  void add(std::uint32_t number) {
    const ConvertedNode& node = trace_.nodes[number];
    if (!(node.microseconds >= 0 && node.microseconds < kLongest)) {
      throw InputError{{trace_.file},
                       fmt::format("node {} ('{}') lasts {} us", node.id, node.name, node.microseconds)};
    }
    if (node.microseconds == 0) {
      trace_.report.add(kNoDuration, node.name);
    }
    graph_.ids.push_back(node.id);
    graph_.what.push_back(number);
    graph_.microseconds.push_back(0);
    const std::size_t before = wanted_.size();
    for (const std::uint64_t id : node.data) {
      want(node, id);
    }
    if (node.is_cpu) {
      trace_.report.add(kCallers, node.name, node.control.size());
    } else if (wanted_.size() == before) {
      for (const std::uint64_t id : node.control) {
        want(node, id);
      }
    }
    graph_.first_dependency.push_back(static_cast<std::uint32_t>(wanted_.size()));
  }

  void want(const ConvertedNode& node, std::uint64_t id) {
    const auto known = by_id_.find(id);
    if (known == by_id_.end()) {
      trace_.report.add(kMissingNode, node.name);
    } else if (id == node.id) {
      trace_.report.add(kOwnNode, node.name);
    } else if (const ConvertedNode& other = trace_.nodes[known->second];
               other.type != NodeType::Metadata || other.is_cpu) {
      wanted_.push_back(id);
    }
  }

  ConvertedWork work_of(const ConvertedNode& node) {
    if (node.is_cpu) {
      return ConvertedWork::Host;
    }
    if (node.type == NodeType::Compute) {
      return ConvertedWork::Kernel;
    }
    if (message_of(node)) {
      return ConvertedWork::Message;
    }
    if (node.type != NodeType::Collective) {
      trace_.report.add(kOtherWork, node.name);
      return ConvertedWork::Kernel;
    }
    const auto kind = node.comm_type ? collective_kind(*node.comm_type) : std::nullopt;
    const bool has_size = node.comm_size && *node.comm_size > 0 && std::isfinite(*node.comm_size);
    if (kind && (has_size || *kind == CollectiveKind::Barrier)) {
      return ConvertedWork::Collective;
    }
    trace_.report.add(kUnknownCollective, node.name);
    return ConvertedWork::Kernel;
  }

  ConvertedGraph result() {
    ConvertedGraph made;
    for (std::uint32_t place = 0; place < graph_.size(); ++place) {
      ConvertedGraph::Entry entry;
      entry.node = graph_.what[place];
      entry.work = work_of(trace_.nodes[entry.node]);
      entry.needed.assign(graph_.dependencies.begin() + graph_.first_dependency[place],
                          graph_.dependencies.begin() + graph_.first_dependency[place + 1]);
      std::ranges::sort(entry.needed);
      entry.needed.erase(std::unique(entry.needed.begin(), entry.needed.end()), entry.needed.end());
      made.entries.push_back(std::move(entry));
    }
    return made;
  }

  ConvertedTrace& trace_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_id_;
  TraceGraph graph_;
  std::vector<std::uint64_t> wanted_;
};

}  // namespace

std::optional<TraceTables::Call> message_of(const ConvertedNode& node) {
  const bool sends = node.type == NodeType::Send;
  constexpr double kMost = 1e9;  // ranks, and tags
  const auto is_whole = [](double number) { return number >= 0 && number < kMost; };
  const std::optional<double>& peer = sends ? node.target : node.source;
  const std::optional<double>& own = sends ? node.source : node.target;
  const bool has_size = node.comm_size && *node.comm_size > 0 && std::isfinite(*node.comm_size);
  if ((!sends && node.type != NodeType::Receive) || !has_size || !peer || !is_whole(*peer) ||
      !is_whole(own.value_or(0)) || !is_whole(std::abs(node.tag.value_or(0)))) {
    return std::nullopt;
  }
  const auto rank_of = [](const std::optional<double>& said) {
    return said ? static_cast<std::uint32_t>(*said) : TraceTables::kItself;
  };
  return TraceTables::Call{.kind = sends ? CollectiveKind::Send : CollectiveKind::Receive,
                           .group = 0,
                           .size = *node.comm_size,
                           .source = rank_of(node.source),
                           .target = rank_of(node.target),
                           .tag = static_cast<std::int32_t>(node.tag.value_or(0))};
}

ConvertedGraph graph_of(ConvertedTrace& trace) {
  return GraphBuilder{trace}.build();
}

}  // namespace lockstep::chakra
