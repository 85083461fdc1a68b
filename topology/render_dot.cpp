#include "topology/render_dot.hpp"

#include <fmt/format.h>

// GCC 12 sees uninitialised members in Boost.Optional at -O3 that are never read.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <sstream>

#include "topology/cables.hpp"

namespace lockstep {
namespace {

using CableGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Cable>;

const char* look_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::Gpu:
      return R"(shape=box, style=filled, fillcolor="#76b900")";
    case VertexKind::NvSwitch:
      return R"(shape=hexagon, style=filled, fillcolor="#c8e08a")";
    case VertexKind::PcieSwitch:
      return R"(shape=diamond, style=filled, fillcolor="#d9d9d9")";
    case VertexKind::CpuSocket:
      return R"(shape=box3d, style=filled, fillcolor="#9ecae1")";
    case VertexKind::Nic:
      return R"(shape=cds, style=filled, fillcolor="#fdae6b")";
    case VertexKind::SpineSwitch:
      return R"(shape=ellipse, style=filled, fillcolor="#fdae6b")";
    case VertexKind::CoreSwitch:
      return R"(shape=doubleoctagon, style=filled, fillcolor="#fd8d3c")";
    case VertexKind::LeafSwitch:
    case VertexKind::HostMemory:
      break;
  }
  return R"(shape=ellipse, style=filled, fillcolor="#fdd0a2")";
}

const char* colour_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::NvLink:
      return "#4f8a10";
    case LinkKind::Pcie:
      return "#666666";
    case LinkKind::Socket:
      return "#3182bd";
    case LinkKind::Network:
    case LinkKind::HostMemory:
      break;
  }
  return "#e6550d";
}

}  // namespace

std::string to_dot(const Fabric& fabric) {
  CableGraph graph(fabric.vertices().size());
  for (const Cable& cable : cables_of(fabric)) {
    const Link& link = fabric.links()[cable.link];
    boost::add_edge(link.from, link.to, cable, graph);
  }
  std::ostringstream out;
  boost::write_graphviz(
      out, graph,
      [&](std::ostream& stream, std::size_t id) {
        const Vertex& vertex = fabric.vertices()[id];
        const std::string second_line = vertex.model.empty() ? "" : "\\n" + vertex.model;
        stream << fmt::format(R"([label="{}{}", {}])", vertex.name, second_line, look_of(vertex.kind));
      },
      [&](std::ostream& stream, const CableGraph::edge_descriptor& edge) {
        const Link& link = fabric.links()[graph[edge].link];
        stream << fmt::format(R"([label="{}", color="{}"{}])", link.bandwidth, colour_of(link.kind),
                              graph[edge].both_ways ? ", dir=both" : "");
      },
      [](std::ostream& stream) { stream << "graph [rankdir=BT];\nnode [fontname=Helvetica];\n"; });
  return out.str();
}

}  // namespace lockstep
