#include "topology/shortest_paths.hpp"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <optional>
#include <utility>

namespace lockstep {
namespace {

// The machine does not change, so the adjacency lists are stored as one array (Boost's CSR graph): a tenth of
// the memory of adjacency_list and no pointers to chase.
using ArcGraph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Arc>;

ArcGraph graph_of(const std::vector<Arc>& arcs, std::size_t vertices, bool reversed) {
  std::vector<std::pair<std::size_t, std::size_t>> ends;
  ends.reserve(arcs.size());
  for (const Arc& arc : arcs) {
    ends.emplace_back(reversed ? arc.to : arc.from, reversed ? arc.from : arc.to);
  }
  return {boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(), arcs.begin(), vertices};
}

/// Keeps the reversed arcs that a path to `destination` may use: those into it or into a vertex that
/// forwards.
struct Usable {
  const std::vector<bool>* forwards = nullptr;
  std::uint32_t destination = 0;
  const ArcGraph* graph = nullptr;

  bool operator()(const ArcGraph::edge_descriptor& edge) const {
    const auto next = source(edge, *graph);
    return next == destination || (*forwards)[next];
  }
};

}  // namespace

/// How to go on from a vertex: `count` equally good arcs, the first and last by position in its adjacency
/// list.
struct ShortestPaths::Step {
  PathCost cost = kUnreachable;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t count = 0;
};

class ShortestPaths::Graph {
 public:
  Graph(std::vector<bool> forwards, const std::vector<Arc>& arcs)
      : forwards_{std::move(forwards)},
        forward_{graph_of(arcs, forwards_.size(), false)},
        reversed_{graph_of(arcs, forwards_.size(), true)} {}

  [[nodiscard]] std::size_t size() const { return forwards_.size(); }

  [[nodiscard]] Table table_to(std::uint32_t destination) const {
    std::vector<PathCost> costs(size());
    const boost::filtered_graph graph{reversed_, Usable{&forwards_, destination, &reversed_}};
    boost::dijkstra_shortest_paths(graph, std::size_t{destination},
                                   boost::weight_map(get(&Arc::cost, reversed_))
                                       .distance_map(boost::make_iterator_property_map(
                                           costs.begin(), get(boost::vertex_index, reversed_)))
                                       .distance_inf(kUnreachable)
                                       .distance_zero(PathCost{0}));
    Table table(size());
    for (std::uint32_t vertex = 0; vertex < size(); ++vertex) {
      table[vertex].cost = costs[vertex];
      if (vertex != destination && costs[vertex] != kUnreachable) {
        find_continuations(vertex, destination, costs, table[vertex]);
      }
    }
    return table;
  }

  /// Where all arcs into @p vertex begin, if that is one place which passes messages on.
  [[nodiscard]] std::optional<std::uint32_t> only_way_in(std::uint32_t vertex) const {
    const auto [first, last] = out_edges(std::size_t{vertex}, reversed_);
    if (first == last) {
      return std::nullopt;
    }
    const std::uint32_t from = reversed_[*first].from;
    const bool is_only =
        std::all_of(first, last, [&](const auto& edge) { return reversed_[edge].from == from; });
    return is_only && forwards_[from] ? std::optional{from} : std::nullopt;
  }

  /// The cheapest arcs into @p vertex, all from one place.
  [[nodiscard]] std::vector<const Arc*> last_arcs(std::uint32_t vertex) const {
    std::vector<const Arc*> arcs;
    for (auto [edge, end] = out_edges(std::size_t{vertex}, reversed_); edge != end; ++edge) {
      const Arc& arc = reversed_[*edge];
      if (!arcs.empty() && arc.cost < arcs.front()->cost) {
        arcs.clear();
      }
      if (arcs.empty() || arc.cost == arcs.front()->cost) {
        arcs.push_back(&arc);
      }
    }
    return arcs;
  }

  /// The arc that the message takes from @p vertex on.
  [[nodiscard]] const Arc& arc(std::uint32_t vertex, std::uint32_t destination, const Table& table,
                               std::uint32_t choice) const {
    const auto arcs = out_edges(std::size_t{vertex}, forward_).first;
    const Step& step = table[vertex];
    if (step.last - step.first + 1 == step.count) {
      return forward_[arcs[step.first + choice]];
    }
    for (std::uint32_t position = step.first;; ++position) {  // ends at the choice-th continuation
      const Arc& candidate = forward_[arcs[position]];
      if (continues(candidate, destination, table[candidate.to].cost, step.cost) && choice-- == 0) {
        return candidate;
      }
    }
  }

 private:
  [[nodiscard]] bool continues(const Arc& arc, std::uint32_t destination, PathCost rest,
                               PathCost whole) const {
    return (arc.to == destination || forwards_[arc.to]) && rest != kUnreachable && rest + arc.cost == whole;
  }

  void find_continuations(std::uint32_t vertex, std::uint32_t destination, const std::vector<PathCost>& costs,
                          Step& step) const {
    std::uint32_t position = 0;
    for (auto [edge, end] = out_edges(std::size_t{vertex}, forward_); edge != end; ++edge, ++position) {
      const Arc& arc = forward_[*edge];
      if (continues(arc, destination, costs[arc.to], step.cost)) {
        step.first = step.count == 0 ? position : step.first;
        step.last = position;
        ++step.count;
      }
    }
  }

  std::vector<bool> forwards_;
  ArcGraph forward_;
  ArcGraph reversed_;
};

ShortestPaths::ShortestPaths(std::vector<bool> forwards, const std::vector<Arc>& arcs)
    : graph_{std::make_unique<const Graph>(std::move(forwards), arcs)},
      tables_(graph_->size()),
      owned_(graph_->size()) {}

ShortestPaths::~ShortestPaths() = default;

const ShortestPaths::Table& ShortestPaths::table_to(std::uint32_t destination) const {
  if (const Table* known = tables_[destination].load(std::memory_order_acquire)) {
    return *known;
  }
  const std::lock_guard lock{growing_};
  if (!owned_[destination]) {
    owned_[destination] = std::make_unique<const Table>(graph_->table_to(destination));
    tables_[destination].store(owned_[destination].get(), std::memory_order_release);
  }
  return *owned_[destination];
}

PathCost ShortestPaths::cost(std::uint32_t from, std::uint32_t to) const {
  const auto before = from == to ? std::nullopt : graph_->only_way_in(to);
  if (!before) {
    return table_to(to)[from].cost;
  }
  const PathCost rest = from == *before ? 0 : table_to(*before)[from].cost;
  return rest == kUnreachable ? kUnreachable : rest + graph_->last_arcs(to).front()->cost;
}

void ShortestPaths::append_path(std::uint32_t from, std::uint32_t to, const EcmpHash& hash,
                                std::uint32_t hops, std::vector<std::uint32_t>& links) const {
  const auto before = from == to ? std::nullopt : graph_->only_way_in(to);
  hops = append_by_table(from, before.value_or(to), hash, hops, links);
  if (before) {
    const auto arcs = graph_->last_arcs(to);
    links.push_back(arcs[hash.pick(static_cast<std::uint32_t>(arcs.size()), hops)]->link);
  }
}

std::uint32_t ShortestPaths::append_by_table(std::uint32_t from, std::uint32_t to, const EcmpHash& hash,
                                             std::uint32_t hops, std::vector<std::uint32_t>& links) const {
  if (from == to) {
    return hops;
  }
  const Table& table = table_to(to);
  for (std::uint32_t vertex = from; vertex != to; ++hops) {
    const Arc& arc = graph_->arc(vertex, to, table, hash.pick(table[vertex].count, hops));
    links.push_back(arc.link);
    vertex = arc.to;
  }
  return hops;
}

}  // namespace lockstep
