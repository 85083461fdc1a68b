#include "app/topology_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "topology/gpu_pairs.hpp"

namespace lockstep {
namespace {

using namespace literals;

class TextPage {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

void add_inventory(TextPage& page, const std::string& title, const Fabric& fabric) {
  std::set<int> nodes;
  std::map<std::pair<VertexKind, std::string>, int> devices;
  for (const Vertex& vertex : fabric.vertices()) {
    if (vertex.node >= 0) {
      nodes.insert(vertex.node);
    }
    ++devices[{vertex.kind, vertex.model}];
  }
  page.add("{}: {} GPUs", title, fabric.gpus().size());
  if (!nodes.empty()) {
    page.add(" in {} {}", nodes.size(), nodes.size() == 1 ? "node" : "nodes");
  }
  page.add("\n\nDevices\n");
  for (const auto& [device, count] : devices) {
    page.add("  {:>7}  {}{}{}\n", count, to_string(device.first), device.second.empty() ? "" : " ",
             device.second);
  }
  std::map<std::tuple<LinkKind, BytesPerSecond, Seconds>, int> links;
  for (const Link& link : fabric.links()) {
    ++links[{link.kind, link.bandwidth, link.latency}];
  }
  page.add("\nLinks (each direction is one)\n");
  for (auto it = links.rbegin(); it != links.rend(); ++it) {
    const auto& [kind, bandwidth, latency] = it->first;
    page.add("  {:>7}  {:<8} {:>11}  {:>7}\n", it->second, to_string(kind), to_string(bandwidth),
             to_string(latency));
  }
}

/// `node0.gpu3` as `gpu3` when there is one node, as `0.3` when there are several.
std::vector<std::string> short_names(const Fabric& fabric) {
  std::set<int> nodes;
  for (const VertexId gpu : fabric.gpus()) {
    nodes.insert(fabric.vertices()[gpu].node);
  }
  std::vector<std::string> names;
  for (const VertexId gpu : fabric.gpus()) {
    const Vertex& vertex = fabric.vertices()[gpu];
    names.push_back(nodes.size() == 1 ? fmt::format("gpu{}", vertex.index)
                                      : fmt::format("{}.{}", vertex.node, vertex.index));
  }
  return names;
}

void add_matrix(TextPage& page, const Fabric& fabric, const std::function<double(const Route&)>& figure) {
  const std::vector<std::string> names = short_names(fabric);
  page.add("  {:>6}", "");
  for (const std::string& name : names) {
    page.add(" {:>6}", name);
  }
  page.add("\n");
  for (std::size_t from = 0; from < names.size(); ++from) {
    page.add("  {:>6}", names[from]);
    for (std::size_t to = 0; to < names.size(); ++to) {
      if (from == to) {
        page.add(" {:>6}", "-");
      } else {
        page.add(" {:>6.4g}", figure(fabric.route(fabric.gpus()[from], fabric.gpus()[to])));
      }
    }
    page.add("\n");
  }
}

void add_pairs(TextPage& page, const Fabric& fabric) {
  if (fabric.gpus().size() < 2) {
    return;
  }
  if (fabric.gpus().size() <= kMostGpusInMatrix) {
    page.add("\nGPU to GPU: bandwidth of the route's narrowest link, GB/s (row to column)\n");
    add_matrix(page, fabric, [&](const Route& route) { return bottleneck(fabric, route) / 1_GBps; });
    page.add("\nGPU to GPU: latency of the route, ns\n");
    add_matrix(page, fabric, [](const Route& route) { return route.latency / 1_ns; });
    return;
  }
  const PairSummary summary = gpu_pair_classes(fabric);
  page.add("\nGPU to GPU: kinds of route from {} of the GPUs to all others\n", summary.sources);
  for (const PairClass& pairs : summary.classes) {
    page.add("  {:>9} pairs {:>11}  {:>8}  {}\n{:>18}e.g. {} to {}\n", pairs.pairs,
             to_string(pairs.bandwidth), to_string(pairs.latency), pairs.kinds, "",
             fabric.vertices()[pairs.from].name, fabric.vertices()[pairs.to].name);
  }
}

void add_route(TextPage& page, const Fabric& fabric, const AskedRoute& asked) {
  const Route route = fabric.route(asked.from, asked.to, asked.flow);
  page.add("\nRoute of flow {} from {} to {}: {}, {}\n", asked.flow, fabric.vertices()[asked.from].name,
           fabric.vertices()[asked.to].name,
           route.links.empty() ? "stays where it is" : to_string(bottleneck(fabric, route)), route.latency);
  for (const LinkId id : route.links) {
    const Link& link = fabric.links()[id];
    page.add("  {:<40} {:<8} {:>11}  {:>7}\n", fabric.name_of(id), to_string(link.kind),
             to_string(link.bandwidth), to_string(link.latency));
  }
}

}  // namespace

std::string topology_text(const std::string& title, const Fabric& fabric,
                          const std::vector<AskedRoute>& routes) {
  TextPage page;
  add_inventory(page, title, fabric);
  add_pairs(page, fabric);
  for (const AskedRoute& route : routes) {
    add_route(page, fabric, route);
  }
  return std::move(page).text();
}

}  // namespace lockstep
