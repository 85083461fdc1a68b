#include "topology/shortest_paths.hpp"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
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

/// The one place from which all arcs into a vertex come, and the cheapest of these.
struct ShortestPaths::WayIn {
  std::uint32_t from = 0;
  std::uint32_t count = 0;  ///< of the cheapest; 0: there is no such place
  PathCost cost = kUnreachable;
};

class ShortestPaths::Graph {
 public:
  Graph(std::vector<bool> forwards, const std::vector<Arc>& arcs)
      : forwards_{std::move(forwards)},
        forward_{graph_of(arcs, forwards_.size(), false)},
        reversed_{graph_of(arcs, forwards_.size(), true)} {
    ways_in_.reserve(forwards_.size());
    for (std::uint32_t vertex = 0; vertex < forwards_.size(); ++vertex) {
      ways_in_.push_back(find_only_way_in(vertex));
    }
  }

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

  /// Null: messages come into @p vertex from several places, or from one that passes nothing on.
  [[nodiscard]] const WayIn* only_way_in(std::uint32_t vertex) const {
    return ways_in_[vertex].count == 0 ? nullptr : &ways_in_[vertex];
  }

  /// The last arc of a message into @p vertex, of the cheapest ones of its only way in.
  [[nodiscard]] const Arc& last_arc(std::uint32_t vertex, const WayIn& way, std::uint32_t choice) const {
    for (auto edge = out_edges(std::size_t{vertex}, reversed_).first;; ++edge) {  // ends at the choice-th
      if (reversed_[*edge].cost == way.cost && choice-- == 0) {
        return reversed_[*edge];
      }
    }
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
  [[nodiscard]] WayIn find_only_way_in(std::uint32_t vertex) const {
    WayIn way;
    for (auto [edge, end] = out_edges(std::size_t{vertex}, reversed_); edge != end; ++edge) {
      const Arc& arc = reversed_[*edge];
      if (way.count > 0 && arc.from != way.from) {
        return {};
      }
      way.from = arc.from;
      way.count = arc.cost < way.cost ? 1 : way.count + (arc.cost == way.cost ? 1 : 0);
      way.cost = std::min(way.cost, arc.cost);
    }
    return way.count > 0 && forwards_[way.from] ? way : WayIn{};
  }

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
  std::vector<WayIn> ways_in_;  // by vertex
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
  const WayIn* const way = from == to ? nullptr : graph_->only_way_in(to);
  if (way == nullptr) {
    return table_to(to)[from].cost;
  }
  const PathCost rest = from == way->from ? 0 : table_to(way->from)[from].cost;
  return rest == kUnreachable ? kUnreachable : rest + way->cost;
}

void ShortestPaths::append_path(std::uint32_t from, std::uint32_t to, const EcmpHash& hash,
                                std::uint32_t hops, std::vector<std::uint32_t>& links) const {
  const WayIn* const way = from == to ? nullptr : graph_->only_way_in(to);
  hops = append_by_table(from, way == nullptr ? to : way->from, hash, hops, links);
  if (way != nullptr) {
    links.push_back(graph_->last_arc(to, *way, hash.pick(way->count, hops)).link);
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
