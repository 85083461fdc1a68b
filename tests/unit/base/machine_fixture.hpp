#pragma once

/// @file
/// A Spec with every kind of field, for the visitors' tests.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/named.hpp"
#include "base/parameters.hpp"

namespace lockstep::test {

enum class Precision { Fp32, Bf16 };

constexpr auto names_of(Precision /*unused*/) {
  return std::to_array<EnumName<Precision>>({{Precision::Fp32, "fp32"}, {Precision::Bf16, "bf16"}});
}

struct LinkSpec {
  BytesPerSecond bandwidth;
  Seconds latency;

  template <class Visitor>
  static void describe(Visitor& key, LinkSpec& link) {
    key.required("bandwidth", link.bandwidth, "of one direction, e.g. 25 GB/s");
    key.optional("latency", link.latency, Seconds{1e-6}, "of the first byte");
  }

  void check() const {
    if (bandwidth <= BytesPerSecond{0}) {
      throw FieldError{"bandwidth", "must be greater than 0"};
    }
  }
};

struct Nodes {
  std::string preset;
  int count = 0;

  static Nodes parse(const std::string& text) {
    const auto times = text.find(" x ");
    if (times == std::string::npos) {
      throw std::invalid_argument{"expected e.g. dgx_a100 x 4, not '" + text + "'"};
    }
    return {text.substr(0, times), std::stoi(text.substr(times + 3))};
  }

  template <class Visitor>
  static void describe(Visitor& key, Nodes& nodes) {
    key.required("preset", nodes.preset, "kind of node");
    key.required("count", nodes.count, "how many");
  }
};

struct GpuSpec {
  static constexpr const char* kConfigKind = "gpus";
  std::string name;
  Bytes memory;

  template <class Visitor>
  static void describe(Visitor& key, GpuSpec& gpu) {
    key.required("name", gpu.name, "identifier");
    key.required("memory", gpu.memory, "on the device");
  }
};

struct MachineSpec {
  std::string name;
  bool nvlink = false;
  std::int64_t batch = 0;
  double efficiency = 0;
  Precision precision{};
  std::vector<LinkSpec> links;
  std::map<Precision, FlopsPerSecond> peak;
  std::map<std::string, Seconds, std::less<>> overheads;
  std::optional<Bytes> cache;
  Nodes nodes;
  Named<GpuSpec> gpu;

  template <class Visitor>
  static void describe(Visitor& key, MachineSpec& machine) {
    key.required("name", machine.name, "identifier");
    key.optional("nvlink", machine.nvlink, true, "whether there is any");
    key.optional("batch", machine.batch, 65536, "samples");
    key.optional("efficiency", machine.efficiency, 1, "share of the peak");
    key.optional("precision", machine.precision, Precision::Fp32, "of the dense part");
    key.optional("links", machine.links, {}, "to the neighbours");
    key.optional("peak", machine.peak, {}, "by precision");
    key.optional("overheads", machine.overheads, {}, "by operator");
    key.optional("cache", machine.cache, std::nullopt, "level 2");
    key.optional("nodes", machine.nodes, Nodes{"pcie", 1}, "the machine");
    key.optional("gpu", machine.gpu, {{"T4", Bytes{16e9}}, ""}, "in every slot");
  }
};

}  // namespace lockstep::test
