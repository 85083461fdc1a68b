#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/yaml_node.hpp"
#include "import/draft.hpp"

namespace lockstep::importing {

/// A device or a link in a drawing: `{ name: gpu, kind: gpu, count: 8 }`.
[[nodiscard]] YamlNode drawn_row(const std::vector<std::pair<std::string, std::string>>& keys,
                                 const SourceLocation& at);

/// Collects what a node is made of.
struct NodeDrawing {
  YamlNode node = yaml_node(YamlNode::Kind::Mapping, {});
  YamlNode vertices = yaml_node(YamlNode::Kind::Sequence, {});
  YamlNode links = yaml_node(YamlNode::Kind::Sequence, {});

  void say(const std::string& key, const std::string& value, const SourceLocation& at);
  void vertex(const std::string& name, const std::string& kind, std::size_t count, const SourceLocation& at);
  void link(const std::string& from, const std::string& to, const std::string& kind, int count,
            const SourceLocation& at);
  [[nodiscard]] YamlNode finish() &&;
};

/// A GPU of configs/gpus by NVIDIA's name of it, `NVIDIA A100-SXM4-80GB`; "" for one that does not ship.
[[nodiscard]] std::string gpu_by_name(const std::string& name);

/// Links that go with a GPU model: its NVLink, the PCIe of its generation, and the network port that comes
/// with it in NVIDIA's own machines.
struct GpuLinks {
  std::string nvlink, pcie, network;
};
[[nodiscard]] GpuLinks links_of_gpu(const std::string& gpu);

/// GPUs of the draft's node, where one was found or is named.
[[nodiscard]] std::optional<int> gpus_of_node(const Draft& draft);

/// Sets `cluster` from the node and the network that were found, or assumes one.
void settle_machine(Draft& draft);

}  // namespace lockstep::importing
