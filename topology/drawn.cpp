#include "topology/drawn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "topology/name_pattern.hpp"

namespace lockstep {
namespace {

std::vector<std::string> names_of_vertices(const Drawing& drawing) {
  std::vector<std::string> names;
  names.reserve(drawing.vertices.size());
  for (const Vertex& vertex : drawing.vertices) {
    names.push_back(vertex.name);
  }
  return names;
}

std::vector<std::size_t> ends(const std::string& key, const std::string& words, const NamedPlaces& names) {
  try {
    return names.of(words);
  } catch (const std::invalid_argument& problem) {
    throw FieldError{key, problem.what()};
  }
}

}  // namespace

void DrawnVertices::check() const {
  if (name.empty() || name.find_first_of(" \t*?") != std::string::npos ||
      name.find("..") != std::string::npos) {
    throw FieldError{"name", "'" + name + "' is not a name: expected letters, digits, '.', '_' or '-'"};
  }
  if (count < 0) {
    throw FieldError{"count", "must not be negative"};
  }
  if (count > kMostDrawn) {
    throw FieldError{"count", fmt::format("at most {} devices can be drawn", kMostDrawn)};
  }
  if (kind != VertexKind::Gpu && !model.empty()) {
    throw FieldError{"model", "only GPUs have one"};
  }
  if (kind != VertexKind::Gpu && forwards) {
    throw FieldError{"forwards", "only GPUs can be told; everything else always forwards"};
  }
  if (kind != VertexKind::CpuSocket && memory > Bytes{0}) {
    throw FieldError{"memory", "only CPU sockets have some here; that of GPUs is in configs/gpus"};
  }
  if (kind != VertexKind::CpuSocket && memory_bandwidth > BytesPerSecond{0}) {
    throw FieldError{"memory_bandwidth", "only CPU sockets have one here; that of GPUs is in configs/gpus"};
  }
  if (kind == VertexKind::HostMemory) {
    throw FieldError{"kind", "memory is part of a socket: say 'memory' and 'memory_bandwidth' of a cpu"};
  }
  if (kind != VertexKind::CpuSocket && vendor != CpuVendor::Unknown) {
    throw FieldError{"vendor", "only CPU sockets have one"};
  }
  if (memory < Bytes{0} || memory_bandwidth < BytesPerSecond{0}) {
    throw FieldError{memory < Bytes{0} ? "memory" : "memory_bandwidth", "must not be negative"};
  }
}

void DrawnLinks::check() const {
  if (count < 1) {
    throw FieldError{"count", "must be at least 1"};
  }
}

void draw_vertices(const std::vector<DrawnVertices>& vertices, Drawing& drawing) {
  if (vertices.empty()) {
    return;
  }
  std::map<VertexKind, int> next_index;
  std::set<std::string> names;
  for (const Vertex& vertex : drawing.vertices) {
    names.insert(vertex.name);
    next_index[vertex.kind] += vertex.node < 0 ? 1 : 0;
  }
  for (std::size_t item = 0; item < vertices.size(); ++item) {
    const DrawnVertices& drawn = vertices[item];
    for (int i = 0; i < std::max(drawn.count, 1); ++i) {
      const std::string name = drawn.count == 0 ? drawn.name : drawn.name + std::to_string(i);
      if (!names.insert(name).second) {
        throw FieldError{fmt::format("vertices.{}", item), "there are two called '" + name + "'"};
      }
      drawing.add({drawn.kind, -1, next_index[drawn.kind]++, name, drawn.model, drawn.forwards, drawn.memory,
                   drawn.memory_bandwidth, drawn.vendor});
    }
  }
}

void draw_links(const std::vector<DrawnLinks>& links, Drawing& drawing) {
  if (links.empty()) {
    return;
  }
  const NamedPlaces names{names_of_vertices(drawing)};
  for (std::size_t item = 0; item < links.size(); ++item) {
    const DrawnLinks& drawn = links[item];
    const auto from = ends(fmt::format("links.{}.connect", item), drawn.connect, names);
    const auto to = ends(fmt::format("links.{}.with", item), drawn.with, names);
    if (drawn.pairwise && from.size() != to.size()) {
      throw FieldError{fmt::format("links.{}", item),
                       fmt::format("pairwise needs as many to connect as to connect with, not {} and {}",
                                   from.size(), to.size())};
    }
    const Wire wire = drawn.link->wire(drawn.count);
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (std::size_t j = 0; j < to.size(); ++j) {
        if (drawn.pairwise && i != j) {
          continue;
        }
        if (from[i] == to[j]) {
          throw FieldError{fmt::format("links.{}.with", item),
                           "joins '" + names.name(from[i]) + "' to itself"};
        }
        const auto a = static_cast<VertexId>(from[i]);
        const auto b = static_cast<VertexId>(to[j]);
        drawn.one_way ? drawing.connect_one_way(a, b, wire) : drawing.connect(a, b, wire);
      }
    }
  }
}

}  // namespace lockstep
