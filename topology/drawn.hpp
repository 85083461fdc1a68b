#pragma once

/// @file
/// Machines drawn vertex by vertex: the language of node presets and of whole clusters.

#include <string>
#include <vector>

#include "base/named.hpp"
#include "base/parameters.hpp"
#include "topology/drawing.hpp"
#include "topology/kinds.hpp"
#include "topology/link_spec.hpp"

namespace lockstep {

/// One device, or several of a kind.
struct DrawnVertices {
  std::string name;
  VertexKind kind = VertexKind::Gpu;
  int count = 0;
  std::string model;
  bool forwards = false;
  Bytes memory{0};
  BytesPerSecond memory_bandwidth{0};
  CpuVendor vendor = CpuVendor::Unknown;

  template <class Visitor>
  static void describe(Visitor& key, DrawnVertices& drawn) {
    key.required("name", drawn.name, "of the device; of several devices what their numbers are put after");
    key.required("kind", drawn.kind, "gpu, nvswitch, pcie_switch, cpu, nic, leaf, spine or core");
    key.optional("count", drawn.count, 0, "makes several devices: name0, name1, ...; 0: one, named as it is");
    key.optional("model", drawn.model, "", "of GPUs: a name of configs/gpus");
    key.optional("forwards", drawn.forwards, false, "of GPUs: they pass on what is meant for others");
    key.optional("memory", drawn.memory, Bytes{0},
                 "of CPU sockets: size of the DRAM of each; what training keeps in host memory needs it");
    key.optional(
        "memory_bandwidth", drawn.memory_bandwidth, BytesPerSecond{0},
        "of CPU sockets: data rate of the DRAM channels of each together; optimizers that run on the "
        "host, and exchanges through host memory need it");
    key.optional(
        "vendor", drawn.vendor, CpuVendor::Unknown,
        "of CPU sockets: amd, intel or arm; NCCL lets two GPUs on AMD's exchange directly across CPUs");
  }

  void check() const;
};

/// Links between all of `connect` and all of `with`.
struct DrawnLinks {
  std::string connect;
  std::string with;
  Named<LinkSpec> link;
  int count = 1;
  bool pairwise = false;
  bool one_way = false;

  template <class Visitor>
  static void describe(Visitor& key, DrawnLinks& drawn) {
    key.required("connect", drawn.connect, "vertices at one end: names, ranges (gpu0..3), patterns (gpu*)");
    key.required("with", drawn.with, "vertices at the other end");
    key.required("link", drawn.link, "a name of configs/links, or a link in place");
    key.optional("count", drawn.count, 1, "links side by side; they count as one of the summed bandwidth");
    key.optional("pairwise", drawn.pairwise, false,
                 "first with first, second with second; else each with each");
    key.optional("one_way", drawn.one_way, false, "only from `connect` to `with`");
  }

  void check() const;
};

/// Adds devices of no node to @p drawing. Numbers them by kind, after those of the kind that are there.
/// @throws FieldError at `vertices.N` for a name given twice
void draw_vertices(const std::vector<DrawnVertices>& vertices, Drawing& drawing);

/// @throws FieldError at `links.N.connect` or `links.N.with` for unknown names, self-links, unequal pairs
void draw_links(const std::vector<DrawnLinks>& links, Drawing& drawing);

}  // namespace lockstep
