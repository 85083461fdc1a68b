#include "app/topology_json.hpp"

#include <nlohmann/json.hpp>

#include "topology/gpu_pairs.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Vertex& vertex) {
  Json json{{"name", vertex.name},
            {"kind", to_string(vertex.kind)},
            {"node", vertex.node},
            {"index", vertex.index}};
  if (!vertex.model.empty()) {
    json["model"] = vertex.model;
  }
  return json;
}

Json json_of_link(LinkId id, const Fabric& fabric) {
  const Link& link = fabric.links()[id];
  return {{"name", fabric.name_of(id)},
          {"from", fabric.vertices()[link.from].name},
          {"to", fabric.vertices()[link.to].name},
          {"kind", to_string(link.kind)},
          {"bandwidth_bytes_per_s", link.bandwidth.in_base_units()},
          {"latency_s", link.latency.in_base_units()}};
}

/// Rows and columns as in `gpus`; null on the diagonal.
void add_matrices(Json& json, const Fabric& fabric) {
  Json bandwidth = Json::array();
  Json latency = Json::array();
  for (const VertexId from : fabric.gpus()) {
    Json bandwidth_row = Json::array();
    Json latency_row = Json::array();
    for (const VertexId to : fabric.gpus()) {
      const Route route = fabric.route(from, to);
      bandwidth_row.push_back(from == to ? Json{} : Json(bottleneck(fabric, route).in_base_units()));
      latency_row.push_back(from == to ? Json{} : Json(route.latency.in_base_units()));
    }
    bandwidth.push_back(std::move(bandwidth_row));
    latency.push_back(std::move(latency_row));
  }
  json["gpu_bandwidth_bytes_per_s"] = std::move(bandwidth);
  json["gpu_latency_s"] = std::move(latency);
}

void add_classes(Json& json, const Fabric& fabric) {
  const PairSummary summary = gpu_pair_classes(fabric);
  Json classes = Json::array();
  for (const PairClass& pairs : summary.classes) {
    classes.push_back({{"kinds", pairs.kinds},
                       {"pairs", pairs.pairs},
                       {"bandwidth_bytes_per_s", pairs.bandwidth.in_base_units()},
                       {"latency_s", pairs.latency.in_base_units()},
                       {"from", fabric.vertices()[pairs.from].name},
                       {"to", fabric.vertices()[pairs.to].name}});
  }
  json["gpu_pair_classes"] = {{"sources", summary.sources}, {"classes", std::move(classes)}};
}

Json json_of(const AskedRoute& asked, const Fabric& fabric) {
  const Route route = fabric.route(asked.from, asked.to, asked.flow);
  Json links = Json::array();
  for (const LinkId link : route.links) {
    links.push_back(fabric.name_of(link));
  }
  Json json{{"from", fabric.vertices()[asked.from].name},
            {"to", fabric.vertices()[asked.to].name},
            {"flow", asked.flow},
            {"links", std::move(links)},
            {"latency_s", route.latency.in_base_units()}};
  if (!route.links.empty()) {
    json["bandwidth_bytes_per_s"] = bottleneck(fabric, route).in_base_units();
  }
  return json;
}

}  // namespace

std::string topology_json(const std::string& title, const Fabric& fabric,
                          const std::vector<AskedRoute>& routes) {
  Json json{
      {"cluster", title}, {"vertices", Json::array()}, {"links", Json::array()}, {"gpus", Json::array()}};
  for (const Vertex& vertex : fabric.vertices()) {
    json["vertices"].push_back(json_of(vertex));
  }
  for (LinkId link = 0; link < fabric.links().size(); ++link) {
    json["links"].push_back(json_of_link(link, fabric));
  }
  for (const VertexId gpu : fabric.gpus()) {
    json["gpus"].push_back(fabric.vertices()[gpu].name);
  }
  if (fabric.gpus().size() <= kMostGpusInMatrix) {
    add_matrices(json, fabric);
  } else {
    add_classes(json, fabric);
  }
  for (const AskedRoute& route : routes) {
    json["routes"].push_back(json_of(route, fabric));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockstep
