#include "import/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace lockstep::importing {
namespace {

struct GpuRow {
  std::string_view pattern;  ///< of NVIDIA's name
  std::string_view gpu;
};

/// The first row whose words are all in a name counts.
constexpr auto kGpus = std::to_array<GpuRow>({
    {"GB200", "gb200_186gb"},
    {"B200", "b200_180gb"},
    {"H200", "h200_141gb"},
    {"H100 PCIe", "h100_80gb_pcie"},
    {"H100", "h100_80gb"},
    {"H800", "h100_80gb"},
    {"A100-PCIE-40GB", "a100_40gb_pcie"},
    {"A100 80GB PCIe", "a100_80gb_pcie"},
    {"A100-SXM4-80GB", "a100_80gb"},
    {"A100-SXM4-40GB", "a100_40gb"},
    {"A800", "a100_80gb"},
    {"A100", "a100_80gb"},
    {"V100-SXM2-32GB", "v100_32gb"},
    {"V100-SXM3-32GB", "v100_32gb"},
    {"V100-PCIE-32GB", "v100_32gb_pcie"},
    {"V100-SXM2-16GB", "v100_16gb"},
    {"V100", "v100_32gb"},
    {"P100", "p100_16gb_pcie"},
    {"RTX 6000 Ada", "rtx_6000_ada_48gb"},
    {"RTX A6000", "rtx_a6000_48gb"},
    {"RTX 4090", "rtx_4090_24gb"},
    {"RTX 3090", "rtx_3090_24gb"},
    {"RTX 2080 Ti", "rtx_2080ti"},
    {"RTX 8000", "quadro_rtx_8000_48gb"},
    {"L4", "l4_24gb"},
    {"A10", "a10_24gb"},
    {"T4", "t4_16gb"},
    {"TITAN Xp", "titan_xp"},
    {"GV100", "quadro_gv100_32gb"},
});

struct LinkRow {
  std::string_view gpu;  ///< beginning of its name
  GpuLinks links;
};

YamlNode scalar(std::string text, const SourceLocation& at) {
  return yaml_node(YamlNode::Kind::Scalar, at, std::move(text));
}

int count_in(const YamlNode& row) {
  const YamlEntry* count = row.find("count");
  int number = 1;
  if (count != nullptr) {
    const std::string& text = count->value.scalar;
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

/// The assumed machine: of the GPU's kind where one is named.
std::string usual_machine(const Draft& draft) {
  for (const auto& [gpu, machine] : {std::pair{"a100", "dgx_a100"}, std::pair{"v100", "dgx1v"},
                                     std::pair{"h200", "dgx_h200"}, std::pair{"b200", "dgx_b200"}}) {
    if (draft.gpu.starts_with(gpu)) {
      return machine;
    }
  }
  return "dgx_h100";
}

int nodes_of_job(const Draft& draft) {
  constexpr int kUsual = 8;
  if (!draft.hosts.empty()) {
    return static_cast<int>(draft.hosts.size());
  }
  const int node = gpus_of_node(draft).value_or(kUsual);
  const int gpus = draft.gpus.value_or(node);
  if (draft.nodes && *draft.nodes >= (gpus + node - 1) / node) {
    return *draft.nodes;
  }
  return std::max(1, (gpus + node - 1) / node);
}

}  // namespace

YamlNode drawn_row(const std::vector<std::pair<std::string, std::string>>& keys, const SourceLocation& at) {
  YamlNode row = yaml_node(YamlNode::Kind::Mapping, at);
  for (const auto& [key, value] : keys) {
    row.entries.push_back({key, at, scalar(value, at)});
  }
  return row;
}

void NodeDrawing::say(const std::string& key, const std::string& value, const SourceLocation& at) {
  node.entries.push_back({key, at, scalar(value, at)});
}

void NodeDrawing::vertex(const std::string& name, const std::string& kind, std::size_t count,
                         const SourceLocation& at) {
  if (count > 0) {
    vertices.items.push_back(
        drawn_row({{"name", name}, {"kind", kind}, {"count", std::to_string(count)}}, at));
  }
}

void NodeDrawing::link(const std::string& from, const std::string& to, const std::string& kind, int count,
                       const SourceLocation& at) {
  std::vector<std::pair<std::string, std::string>> keys{{"connect", from}, {"with", to}, {"link", kind}};
  if (count > 1) {
    keys.emplace_back("count", std::to_string(count));
  }
  links.items.push_back(drawn_row(keys, at));
}

YamlNode NodeDrawing::finish() && {
  node.entries.push_back({"vertices", {}, std::move(vertices)});
  node.entries.push_back({"links", {}, std::move(links)});
  return std::move(node);
}

std::string gpu_by_name(const std::string& name) {
  const auto found = std::ranges::find_if(
      kGpus, [&](const GpuRow& row) { return name.find(row.pattern) != std::string::npos; });
  return found == kGpus.end() ? "" : std::string{found->gpu};
}

GpuLinks links_of_gpu(const std::string& gpu) {
  static const std::vector<LinkRow> rows{
      {"gb200", {"nvlink5", "pcie5_x16", "infiniband_ndr"}},
      {"b200", {"nvlink5", "pcie5_x16", "infiniband_ndr"}},
      {"h100", {"nvlink4", "pcie5_x16", "infiniband_ndr"}},
      {"h200", {"nvlink4", "pcie5_x16", "infiniband_ndr"}},
      {"a100", {"nvlink3", "pcie4_x16", "infiniband_hdr"}},
      {"v100", {"nvlink2", "pcie3_x16", "infiniband_edr"}},
      {"quadro_gv100", {"nvlink2", "pcie3_x16", "infiniband_edr"}},
      {"p100", {"nvlink1", "pcie3_x16", "infiniband_edr"}},
      {"t4", {"", "pcie3_x16", "infiniband_edr"}},
      {"titan", {"", "pcie3_x16", "infiniband_edr"}},
      {"rtx_2080ti", {"nvlink2", "pcie3_x16", "infiniband_edr"}},
      {"quadro_rtx", {"nvlink2", "pcie3_x16", "infiniband_edr"}},
  };
  const auto found = std::ranges::find_if(rows, [&](const LinkRow& row) { return gpu.starts_with(row.gpu); });
  return found == rows.end() ? GpuLinks{"nvlink3", "pcie4_x16", "infiniband_hdr"} : found->links;
}

std::optional<int> gpus_of_node(const Draft& draft) {
  if (!draft.node) {
    return std::nullopt;
  }
  int gpus = 0;
  if (const YamlEntry* vertices = draft.node->find("vertices")) {
    for (const YamlNode& row : vertices->value.items) {
      const YamlEntry* kind = row.find("kind");
      gpus += kind != nullptr && kind->value.scalar == "gpu" ? count_in(row) : 0;
    }
  }
  return gpus > 0 ? std::optional{gpus} : std::nullopt;
}

void settle_machine(Draft& draft) {
  const int nodes = nodes_of_job(draft);
  const std::string machine = usual_machine(draft);
  draft.nodes = nodes;
  if (!draft.node && !draft.network) {
    draft.assume("cluster", fmt::format("{} x {}", machine, nodes), "no file says the machine");
    return;
  }
  YamlNode group = draft.node ? *draft.node : scalar(machine, {"assumed: no file says what a node is", 0, 0});
  YamlNode entry = yaml_node(YamlNode::Kind::Mapping, {});
  entry.entries.push_back({"node", {}, std::move(group)});
  entry.entries.push_back(
      {"count",
       {},
       scalar(std::to_string(nodes),
              {draft.network ? draft.network_origin : "as many as the job's GPUs need", 0, 0})});
  YamlNode list = yaml_node(YamlNode::Kind::Sequence, {});
  list.items.push_back(std::move(entry));
  YamlNode cluster = yaml_node(YamlNode::Kind::Mapping, {});
  cluster.entries.push_back({"nodes", {}, std::move(list)});
  if (draft.network) {
    std::ranges::copy(draft.network->entries, std::back_inserter(cluster.entries));
  }
  draft.set("cluster", std::move(cluster),
            {{draft.node ? draft.node_origin : draft.network_origin, 0, 0}, ""});
}

}  // namespace lockstep::importing
