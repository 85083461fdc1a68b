#pragma once

#include <string>

#include "base/yaml_document.hpp"

namespace lockstep::test {

inline YamlDocument scenario(const std::string& more = "", const std::string& plan = "tensor: 4") {
  return YamlDocument::from_text(R"(
name: a small GPT on 4 GPUs
cluster: dgx_a100
workload:
  global_batch: 16
  precision: bf16
  model:
    name: small
    source: a test
    transformer: { family: gpt, implementation: megatron, layers: 8, hidden: 2048, heads: 16, vocabulary: 32000,
                   positions: 1024, sequence: 1024 }
parallelism: { ranks: 4, )" + plan + R"( }
steps: 2
)" + more,
                                 "small.yaml");
}

/// A node of H100s and one of A100s of 40 GB.
inline YamlDocument on_two_kinds() {
  return YamlDocument::from_text(R"(
name: an old node and a new one
cluster: { name: mixed, source: a test, nodes: [{ node: dgx_h100, count: 1 }, { node: dgx_a100, count: 1 }] }
workload: { model: gpt3_1b3, global_batch: 64, micro_batch: 1, precision: bf16 }
steps: 2
)",
                                 "mixed.yaml");
}

}  // namespace lockstep::test
