#include "topology/failure.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "topology/name_pattern.hpp"

namespace lockstep {
namespace {

/// The same cable's other direction, by link: the k-th of those between the two ends; itself where there is
/// none.
std::vector<LinkId> other_directions(std::span<const Link> links) {
  std::map<std::pair<VertexId, VertexId>, std::vector<LinkId>> between;
  std::vector<std::size_t> number;
  for (LinkId id = 0; id < links.size(); ++id) {
    auto& alike = between[{links[id].from, links[id].to}];
    number.push_back(alike.size());
    alike.push_back(id);
  }
  std::vector<LinkId> others;
  for (LinkId id = 0; id < links.size(); ++id) {
    const auto back = between.find({links[id].to, links[id].from});
    const bool has_other = back != between.end() && number[id] < back->second.size();
    others.push_back(has_other ? back->second[number[id]] : id);
  }
  return others;
}

/// Devices and links that words stand for.
struct Failed {
  std::vector<bool> vertices;
  std::vector<bool> links;
};

Failed named(const Fabric& fabric, std::span<const std::string> words) {
  std::vector<std::string> names;
  for (const Vertex& vertex : fabric.vertices()) {
    names.push_back(vertex.name);
  }
  for (LinkId link = 0; link < fabric.links().size(); ++link) {
    names.push_back(fabric.name_of(link));
  }
  const NamedPlaces places{std::move(names)};
  const std::size_t devices = fabric.vertices().size();
  Failed failed{std::vector<bool>(devices, false), std::vector<bool>(fabric.links().size(), false)};
  for (const std::string& word : words) {
    const bool is_link =
        word.find("->") != std::string::npos;  // `*` in `node0.nic*` is no part of a link's name
    bool found = false;
    for (const std::size_t place : places.of(word)) {
      if (is_link != (place >= devices)) {
        continue;
      }
      found = true;
      (is_link ? failed.links : failed.vertices)[is_link ? place - devices : place] = true;
      if (!is_link && fabric.vertices()[place].kind == VertexKind::Gpu) {
        throw std::invalid_argument{
            fmt::format("'{}' names GPU '{}': a job does not go on without its GPUs; links, NICs, switches "
                        "and sockets may fail",
                        word, places.name(place))};
      }
    }
    if (!found) {
      throw std::invalid_argument{fmt::format("no {} is called '{}'", is_link ? "link" : "device", word)};
    }
  }
  return failed;
}

std::vector<Link> left_over(const Fabric& fabric, const Failed& failed) {
  const std::vector<LinkId> others = other_directions(fabric.links());
  std::vector<Link> left;
  for (LinkId id = 0; id < fabric.links().size(); ++id) {
    const Link& link = fabric.links()[id];
    const bool is_gone = failed.links[id] || failed.links[others[id]] || failed.vertices[link.from] ||
                         failed.vertices[link.to];
    if (!is_gone) {
      left.push_back(link);
      left.back().name = fabric.name_of(id);  // which may count one that is gone
    }
  }
  return left;
}

/// Copies need a way between GPU and host memory where there was one.
void check_host_memory(const Fabric& sound, const Fabric& left) {
  const auto has_memory = [](const Fabric& fabric, VertexId gpu) {
    try {
      const VertexId memory = fabric.host_memory_of(gpu);
      (void)fabric.route(memory, gpu);
      (void)fabric.route(gpu, memory);
      return true;
    } catch (const std::invalid_argument&) {
      return false;
    }
  };
  for (const VertexId gpu : left.gpus()) {
    if (!has_memory(left, gpu) && has_memory(sound, gpu)) {
      throw std::invalid_argument{
          fmt::format("GPU '{}' has no way to the memory of its host", left.vertices()[gpu].name)};
    }
  }
}

}  // namespace

Fabric without_failed(const Fabric& fabric, std::span<const std::string> failed) {
  std::vector<Link> links = left_over(fabric, named(fabric, failed));
  try {
    Fabric left{{fabric.vertices().begin(), fabric.vertices().end()}, std::move(links)};
    check_host_memory(fabric, left);
    return left;
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument{
        fmt::format("without what has failed the machine falls apart: {}", problem.what())};
  }
}

}  // namespace lockstep
