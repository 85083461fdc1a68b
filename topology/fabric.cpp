#include "topology/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "topology/fabric_check.hpp"
#include "topology/kinds.hpp"
#include "topology/router.hpp"

namespace lockstep {
namespace {

void name_links(std::span<const Vertex> vertices, std::span<Link> links) {
  std::unordered_map<std::uint64_t, int> seen;  // by both ends
  seen.reserve(links.size());
  for (Link& link : links) {
    const int number = ++seen[(std::uint64_t{link.from} << 32U) + link.to];
    if (link.name.empty()) {
      link.name = vertices[link.from].name + "->" + vertices[link.to].name;
      if (number > 1) {
        link.name += fmt::format("#{}", number);
      }
    }
  }
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

}  // namespace

class Fabric::Graph {
 public:
  Graph(std::vector<Vertex> vertices, std::vector<Link> links)
      : vertices_{std::move(vertices)},
        links_{std::move(links)},
        gpus_{gpus_in_rank_order(vertices_)},
        router_{checked(), links_} {}

  std::vector<Vertex> vertices_;
  std::vector<Link> links_;
  std::vector<VertexId> gpus_;
  Router router_;

 private:
  /// The router relies on what is checked here.
  const std::vector<Vertex>& checked() {
    check_vertices(vertices_);
    check_links(vertices_, links_);
    name_links(vertices_, links_);
    check_names(links_);
    check_reachable(vertices_, links_);
    return vertices_;
  }
};

Fabric::Fabric(std::vector<Vertex> vertices, std::vector<Link> links)
    : graph_{std::make_unique<Graph>(std::move(vertices), std::move(links))} {}

Fabric::~Fabric() = default;
Fabric::Fabric(Fabric&&) noexcept = default;
Fabric& Fabric::operator=(Fabric&&) noexcept = default;

std::span<const Vertex> Fabric::vertices() const {
  return graph_->vertices_;
}
std::span<const Link> Fabric::links() const {
  return graph_->links_;
}
std::span<const VertexId> Fabric::gpus() const {
  return graph_->gpus_;
}

VertexId Fabric::host_memory_of(VertexId gpu) const {
  const Vertex& vertex = graph_->vertices_.at(gpu);
  if (const auto socket = graph_->router_.nearest(gpu, VertexKind::CpuSocket)) {
    return *socket;
  }
  throw std::invalid_argument{
      fmt::format("'{}' has no host memory: no CPU socket {} can be reached from it", vertex.name,
                  vertex.node < 0 ? "outside of nodes" : fmt::format("of node {}", vertex.node))};
}

Route Fabric::route(VertexId from, VertexId to, std::uint64_t flow) const {
  const auto& vertices = graph_->vertices_;
  if (from >= vertices.size() || to >= vertices.size()) {
    throw std::invalid_argument{
        fmt::format("route from vertex {} to {}: there are only {}", from, to, vertices.size())};
  }
  if (from == to) {
    return {};
  }
  auto links = graph_->router_.route(from, to, flow);
  if (!links) {
    throw std::invalid_argument{
        fmt::format("no route from '{}' to '{}'", vertices[from].name, vertices[to].name)};
  }
  Route route{std::move(*links), Seconds{0}};
  for (const LinkId link : route.links) {
    route.latency += graph_->links_[link].latency;
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
