#include "topology/fabric_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "topology/alike_nodes.hpp"
#include "topology/partition.hpp"

namespace lockstep {
namespace {

/// @param name_of the name of a thing
template <class Thing, class NameOf>
void check_unique(std::span<const Thing> things, std::string_view what, const NameOf& name_of) {
  std::unordered_set<std::string_view> names;
  names.reserve(things.size());
  for (const auto& thing : things) {
    if (!names.insert(std::invoke(name_of, thing)).second) {
      throw std::invalid_argument{fmt::format("two {} are called '{}'", what, std::invoke(name_of, thing))};
    }
  }
}

/// Who can reach whom, with the rules of routing in the graph: every vertex is there twice, `leaving` (the
/// message has not left the node it started in) and `arriving` (it will not leave its node any more; a vertex
/// that does not forward is a dead end here).
class Reachability {
 public:
  Reachability(std::span<const Vertex> vertices, std::span<const Link> links) : count_{vertices.size()} {
    std::vector<std::pair<std::size_t, std::size_t>> arcs;
    for (const Link& link : links) {
      const Vertex& from = vertices[link.from];
      const Vertex& to = vertices[link.to];
      const bool stays_leaving = (from.node == to.node || to.node < 0) && may_forward(to);
      arcs.emplace_back(link.from, stays_leaving ? link.to : arriving(link.to));
      if (from.node == to.node && from.node >= 0 && may_forward(from)) {
        arcs.emplace_back(arriving(link.from), arriving(link.to));
      }
    }
    forward_ = Graph{boost::edges_are_unsorted_multi_pass, arcs.begin(), arcs.end(), 2 * count_};
    for (auto& arc : arcs) {
      std::swap(arc.first, arc.second);
    }
    backward_ = Graph{boost::edges_are_unsorted_multi_pass, arcs.begin(), arcs.end(), 2 * count_};
  }

  /// Whether each vertex can be reached from @p source.
  [[nodiscard]] std::vector<bool> reached_from(VertexId source) const {
    auto colour = painted(forward_, {source});
    return either(colour);
  }

  /// Whether each vertex can reach @p target.
  [[nodiscard]] std::vector<bool> reaching(VertexId target) const {
    auto colour = painted(backward_, {target, arriving(target)});
    colour.resize(count_);  // messages start `leaving`
    return colour;
  }

 private:
  using Graph = boost::compressed_sparse_row_graph<boost::directedS>;

  [[nodiscard]] std::size_t arriving(std::size_t vertex) const { return count_ + vertex; }

  [[nodiscard]] std::vector<bool> either(const std::vector<bool>& painted) const {
    std::vector<bool> reached(count_);
    for (std::size_t vertex = 0; vertex < count_; ++vertex) {
      reached[vertex] = painted[vertex] || painted[arriving(vertex)];
    }
    return reached;
  }

  [[nodiscard]] static std::vector<bool> painted(const Graph& graph,
                                                 const std::vector<std::size_t>& sources) {
    std::vector<boost::default_color_type> colours(num_vertices(graph), boost::white_color);
    boost::queue<std::size_t> waiting;
    const auto map = boost::make_iterator_property_map(colours.begin(), get(boost::vertex_index, graph));
    boost::breadth_first_visit(graph, sources.begin(), sources.end(), waiting,
                               boost::make_bfs_visitor(boost::null_visitor{}), map);
    std::vector<bool> result(colours.size());
    for (std::size_t vertex = 0; vertex < colours.size(); ++vertex) {
      result[vertex] = colours[vertex] != boost::white_color;
    }
    return result;
  }

  std::size_t count_;
  Graph forward_;
  Graph backward_;
};

/// A vertex that most messages could pass through, of those that forward.
std::optional<VertexId> crossroads(std::span<const Vertex> vertices, std::span<const Link> links) {
  std::vector<std::size_t> degree(vertices.size());
  for (const Link& link : links) {
    ++degree[link.from];
  }
  VertexId best = 0;
  const auto rank = [&](VertexId id) {
    return std::tuple{may_forward(vertices[id]), vertices[id].node < 0, degree[id]};
  };
  for (VertexId id = 1; id < vertices.size(); ++id) {
    if (rank(id) > rank(best)) {
      best = id;
    }
  }
  return may_forward(vertices[best]) ? std::optional{best} : std::nullopt;
}

[[noreturn]] void throw_unreachable(const Vertex& from, const Vertex& to) {
  throw std::invalid_argument{
      fmt::format("no route from GPU '{}' to GPU '{}': link them, or both to a common switch (GPUs pass "
                  "nothing on unless "
                  "they have 'forwards: true', and nodes pass nothing on for other nodes)",
                  from.name, to.name)};
}

/// The part of a machine that @p chosen says, by vertex.
struct Excerpt {
  Excerpt(std::span<const Vertex> all_vertices, std::span<const Link> all_links,
          const std::vector<bool>& chosen) {
    std::vector<VertexId> place(all_vertices.size(), 0);
    for (VertexId id = 0; id < all_vertices.size(); ++id) {
      if (chosen[id]) {
        place[id] = static_cast<VertexId>(vertices.size());
        vertices.push_back(all_vertices[id]);
      }
    }
    for (const Link& link : all_links) {
      if (chosen[link.from] && chosen[link.to]) {
        links.push_back(link);
        links.back().from = place[link.from];
        links.back().to = place[link.to];
      }
    }
  }

  std::vector<Vertex> vertices;
  std::vector<Link> links;
};

// All pairs are connected when every GPU reaches one crossroads and the crossroads reaches every GPU: two
// searches for any sane machine. Only for GPUs that fail one of the two, all their partners are looked at.
void check_all_reachable(std::span<const Vertex> vertices, std::span<const Link> links) {
  if (vertices.empty()) {
    return;
  }
  const Reachability machine{vertices, links};
  const auto centre = crossroads(vertices, links);
  const auto reaches_centre = centre ? machine.reaching(*centre) : std::vector<bool>(vertices.size());
  const auto reached_from_centre =
      centre ? machine.reached_from(*centre) : std::vector<bool>(vertices.size());
  for (VertexId gpu = 0; gpu < vertices.size(); ++gpu) {
    if (vertices[gpu].kind != VertexKind::Gpu) {
      continue;
    }
    const bool sends = reaches_centre[gpu];
    const bool receives = reached_from_centre[gpu];
    const auto reached = sends ? std::vector<bool>{} : machine.reached_from(gpu);
    const auto reaching = receives ? std::vector<bool>{} : machine.reaching(gpu);
    for (VertexId other = 0; !(sends && receives) && other < vertices.size(); ++other) {
      if (vertices[other].kind != VertexKind::Gpu || other == gpu) {
        continue;
      }
      if (!sends && !reached[other]) {
        throw_unreachable(vertices[gpu], vertices[other]);
      }
      if (!receives && !reaching[other]) {
        throw_unreachable(vertices[other], vertices[gpu]);
      }
    }
  }
}

}  // namespace

void check_vertices(std::span<const Vertex> vertices) {
  if (vertices.size() > std::numeric_limits<VertexId>::max() / 2) {
    throw std::invalid_argument{"too many vertices"};
  }
  for (const Vertex& vertex : vertices) {
    if (vertex.name.empty()) {
      throw std::invalid_argument{"a vertex has no name"};
    }
  }
  check_unique(vertices, "vertices", &Vertex::name);
}

void check_links(std::span<const Vertex> vertices, std::span<const Link> links) {
  for (LinkId id = 0; id < links.size(); ++id) {
    const Link& link = links[id];
    for (const VertexId end : {link.from, link.to}) {
      if (end >= vertices.size()) {
        throw std::invalid_argument{
            fmt::format("link {} has an end {}, but there are {} vertices", id, end, vertices.size())};
      }
    }
    const auto& from = vertices[link.from].name;
    const auto& to = vertices[link.to].name;
    if (link.from == link.to) {
      throw std::invalid_argument{fmt::format("a link joins '{}' to itself", from)};
    }
    if (!(link.bandwidth > BytesPerSecond{0}) || std::isinf(link.bandwidth.in_base_units())) {
      throw std::invalid_argument{fmt::format(
          "the link from '{}' to '{}' has bandwidth {}; it must be positive", from, to, link.bandwidth)};
    }
    if (!(link.latency >= Seconds{0}) || link.latency > kLongestLatency) {
      throw std::invalid_argument{fmt::format("the link from '{}' to '{}' has latency {}; it must be 0 to {}",
                                              from, to, link.latency, kLongestLatency)};
    }
  }
}

void check_names(std::span<const std::string> links) {
  check_unique(links, "links", std::identity{});
}

void check_reachable(std::span<const Vertex> vertices, std::span<const Link> links,
                     const AlikeNodes& copies) {
  const std::vector<bool> few = copies.few_of_each(2);
  if (std::ranges::all_of(few, std::identity{})) {
    check_all_reachable(vertices, links);
    return;
  }
  try {
    const Excerpt part{vertices, links, few};
    check_all_reachable(part.vertices, part.links);
  } catch (const std::invalid_argument&) {
    check_all_reachable(vertices, links);  // which may name two other GPUs, the first that there are
    throw;
  }
}

}  // namespace lockstep
