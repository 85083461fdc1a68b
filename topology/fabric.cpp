#include "topology/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "topology/alike_nodes.hpp"
#include "topology/fabric_check.hpp"
#include "topology/kinds.hpp"
#include "topology/router.hpp"

namespace lockstep {
namespace {

/// Names made of the ends' differ where no device has `>` or `#` in its own.
bool may_share_names(std::span<const Vertex> vertices, std::span<const Link> links) {
  return std::ranges::any_of(
             vertices,
             [](const Vertex& vertex) { return vertex.name.find_first_of(">#") != std::string::npos; }) ||
         !std::ranges::all_of(links, &std::string::empty, &Link::name);
}

std::vector<VertexId> gpus_in_rank_order(std::span<const Vertex> vertices) {
  std::vector<VertexId> gpus;
  for (VertexId id = 0; id < vertices.size(); ++id) {
    if (vertices[id].kind == VertexKind::Gpu) {
      gpus.push_back(id);
    }
  }
  std::ranges::sort(gpus, {}, [&](VertexId id) {
    return std::tuple{vertices[id].node, vertices[id].index, id};
  });
  return gpus;
}

std::vector<VertexId> sockets_by_node(std::span<const Vertex> vertices) {
  std::vector<VertexId> sockets;
  for (VertexId id = 0; id < vertices.size(); ++id) {
    if (vertices[id].kind == VertexKind::CpuSocket) {
      sockets.push_back(id);
    }
  }
  std::ranges::stable_sort(sockets, {}, [&](VertexId id) { return vertices[id].node; });
  return sockets;
}

}  // namespace

/// Links by where they begin, as one array with the place of each vertex's first.
struct Fabric::Departures {
  Departures(std::size_t vertices, std::span<const Link> all) : first(vertices + 1, 0), links(all.size()) {
    for (const Link& link : all) {
      ++first[link.from + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::uint32_t> next{first.begin(), first.end() - 1};
    for (LinkId id = 0; id < all.size(); ++id) {
      links[next[all[id].from]++] = id;
    }
    number_parallels(all);
  }

  [[nodiscard]] std::span<const LinkId> from(VertexId vertex) const {
    return std::span{links}.subspan(first[vertex], first[vertex + 1] - first[vertex]);
  }

  /// Counts from 1 among the links that join the same two vertices.
  [[nodiscard]] int number_of(LinkId link) const {
    const auto found = std::ranges::lower_bound(parallels, link, {}, &std::pair<LinkId, int>::first);
    return found != parallels.end() && found->first == link ? found->second : 1;
  }

  std::vector<std::uint32_t> first;  ///< by vertex, and one for the end
  std::vector<LinkId> links;
  std::vector<std::pair<LinkId, int>> parallels;  ///< by link: numbers above 1

 private:
  void number_parallels(std::span<const Link> all) {
    const std::size_t vertices = first.size() - 1;
    std::vector<VertexId> latest(vertices, std::numeric_limits<VertexId>::max());  // with a link to each
    std::vector<int> count(vertices, 0);                                           // of its links there
    for (VertexId vertex = 0; vertex < vertices; ++vertex) {
      for (const LinkId link : from(vertex)) {
        const VertexId to = all[link].to;
        count[to] = latest[to] == vertex ? count[to] + 1 : 1;
        latest[to] = vertex;
        if (count[to] > 1) {
          parallels.emplace_back(link, count[to]);
        }
      }
    }
    std::ranges::sort(parallels);
  }
};

class Fabric::Graph {
 public:
  Graph(std::vector<Vertex> all_vertices, std::vector<Link> all_links)
      : vertices{std::move(all_vertices)},
        links{std::move(all_links)},
        gpus{gpus_in_rank_order(vertices)},
        sockets{sockets_by_node(vertices)},
        departures{checked(), links},
        copies{vertices, links},
        router{connected(), links} {}

  [[nodiscard]] std::string name_of(LinkId id) const {
    const Link& link = links[id];
    if (!link.name.empty()) {
      return link.name;
    }
    std::string name = vertices[link.from].name + "->" + vertices[link.to].name;
    if (const int number = departures.number_of(id); number > 1) {
      name += fmt::format("#{}", number);
    }
    return name;
  }

  std::vector<Vertex> vertices;
  std::vector<Link> links;
  std::vector<VertexId> gpus;
  std::vector<VertexId> sockets;  // by node, then by id
  Departures departures;
  AlikeNodes copies;
  Router router;

 private:
  /// Links that leave a vertex are counted on what is checked here. @return how many vertices there are
  std::size_t checked() {
    check_vertices(vertices);
    check_links(vertices, links);
    return vertices.size();
  }
  const std::vector<Vertex>& connected() {
    if (may_share_names(vertices, links)) {
      std::vector<std::string> names;
      for (LinkId id = 0; id < links.size(); ++id) {
        names.push_back(name_of(id));
      }
      check_names(names);
    }
    check_reachable(vertices, links, copies);
    return vertices;
  }
};

Fabric::Fabric(std::vector<Vertex> vertices, std::vector<Link> links)
    : graph_{std::make_shared<const Graph>(std::move(vertices), std::move(links))} {}

std::span<const Vertex> Fabric::vertices() const {
  return graph_->vertices;
}
std::span<const Link> Fabric::links() const {
  return graph_->links;
}
std::span<const VertexId> Fabric::gpus() const {
  return order_ ? *order_ : graph_->gpus;
}

std::span<const VertexId> Fabric::sockets_of(int node) const {
  const auto& vertices = graph_->vertices;
  const auto node_of = [&](VertexId id) { return vertices[id].node; };
  const auto first = std::ranges::lower_bound(graph_->sockets, node, {}, node_of);
  const auto last = std::ranges::upper_bound(graph_->sockets, node, {}, node_of);
  return {first, last};
}

std::span<const LinkId> Fabric::links_from(VertexId vertex) const {
  return graph_->departures.from(vertex);
}

std::string Fabric::name_of(LinkId link) const {
  return graph_->name_of(link);
}

const AlikeNodes& Fabric::alike_nodes() const {
  return graph_->copies;
}

Fabric Fabric::with_rank_order(std::vector<VertexId> gpus) const {
  std::vector<VertexId> given = gpus, known = graph_->gpus;
  std::ranges::sort(given);
  std::ranges::sort(known);
  if (given != known) {
    throw std::logic_error{"a rank order has each GPU of its fabric once"};
  }
  Fabric same = *this;
  same.order_ = std::make_shared<const std::vector<VertexId>>(std::move(gpus));
  return same;
}

Fabric Fabric::in_order_of(const Fabric& other, std::vector<Vertex> vertices, std::vector<Link> links) {
  Fabric fabric{std::move(vertices), std::move(links)};
  fabric.network_ = other.network_;
  return other.order_ ? fabric.with_rank_order(*other.order_) : fabric;
}

Fabric Fabric::with_network(std::shared_ptr<const NetworkFabric> network) const {
  Fabric same = *this;
  same.network_ = std::move(network);
  return same;
}

VertexId Fabric::host_memory_of(VertexId gpu) const {
  const Vertex& vertex = graph_->vertices.at(gpu);
  if (const auto socket = graph_->router.nearest(gpu, VertexKind::CpuSocket)) {
    return *socket;
  }
  throw std::invalid_argument{
      fmt::format("'{}' has no host memory: no CPU socket {} can be reached from it", vertex.name,
                  vertex.node < 0 ? "outside of nodes" : fmt::format("of node {}", vertex.node))};
}

Route Fabric::route(VertexId from, VertexId to, std::uint64_t flow) const {
  const auto& vertices = graph_->vertices;
  if (from >= vertices.size() || to >= vertices.size()) {
    throw std::invalid_argument{
        fmt::format("route from vertex {} to {}: there are only {}", from, to, vertices.size())};
  }
  if (from == to) {
    return {};
  }
  auto links = graph_->router.route(from, to, flow);
  if (!links) {
    throw std::invalid_argument{
        fmt::format("no route from '{}' to '{}'", vertices[from].name, vertices[to].name)};
  }
  Route route{std::move(*links), Seconds{0}};
  for (const LinkId link : route.links) {
    route.latency += graph_->links[link].latency;
  }
  return route;
}

BytesPerSecond bottleneck(const Fabric& fabric, const Route& route) {
  BytesPerSecond least{std::numeric_limits<double>::infinity()};
  for (const LinkId link : route.links) {
    least = std::min(least, fabric.links()[link].bandwidth);
  }
  return least;
}

std::string to_string(VertexKind kind) {
  return name_of(kind);
}
std::string to_string(LinkKind kind) {
  return name_of(kind);
}

}  // namespace lockstep
