#pragma once

/// @file
/// Small PyTorch execution traces, written by hand in the manner of each schema.

#include <string>
#include <string_view>

namespace lockstep::testing {

/// Schema 1.0.1: arguments and ids stand at the node itself. A matmul, an all-to-all and its wait.
inline constexpr std::string_view kFlatEt = R"et({
  "schema": "1.0.1", "pid": 77, "time": "2023-01-02 03:04:05", "start_ts": 1000,
  "nodes": [
    {
      "name": "[pytorch|profiler|execution_graph|thread]", "id": 2, "rf_id": 0, "parent": 1, "fw_parent": 0, "seq_id": -1, "scope": 7, "tid": 1, "fw_tid": 0, "op_schema": "",
      "inputs": [], "input_shapes": [], "input_types": [],
      "outputs": [], "output_shapes": [], "output_types": []
    },
    {
      "name": "aten::mm", "id": 6, "rf_id": 1, "parent": 2, "fw_parent": 0, "seq_id": 5, "scope": 0, "tid": 1, "fw_tid": 0, "op_schema": "aten::mm(Tensor self, Tensor mat2) -> Tensor",
      "inputs": [[3, 4, 0, 8, 4, "cuda:0"], [5, 4, 8, 16, 4, "cuda:0"]], "input_shapes": [[2, 4], [4, 4]], "input_types": ["Tensor(float)", "Tensor(float)"],
      "outputs": [[7, 8, 0, 8, 4, "cuda:0"]], "output_shapes": [[2, 4]], "output_types": ["Tensor(float)"]
    },
    {
      "name": "record_param_comms", "id": 9, "rf_id": 2, "parent": 2, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1, "fw_tid": 0, "op_schema": "",
      "inputs": [[7, 8, 0, 8, 4, "cuda:0"], 12, 4711, 0, "all_to_allv", [3, 5], [4, 4]], "input_shapes": [[8], [], [], [], [], [[], []], [[], []]],
      "input_types": ["Tensor(float)", "Int", "Int", "Int", "String", "GenericList[Int,Int]", "GenericList[Int,Int]"],
      "outputs": [[10, 11, 0, 8, 4, "cuda:0"]], "output_shapes": [[8]], "output_types": ["Tensor(float)"]
    },
    {
      "name": "record_param_comms", "id": 13, "rf_id": 3, "parent": 2, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1, "fw_tid": 0, "op_schema": "",
      "inputs": [12, 0, 0, "wait", [], []], "input_shapes": [[], [], [], [], [], []],
      "input_types": ["Int", "Int", "Int", "String", "GenericList[]", "GenericList[]"],
      "outputs": [], "output_shapes": [], "output_types": []
    },
    {
      "name": "[pytorch|profiler|execution_graph|process]", "id": 1, "rf_id": 0, "parent": 1, "fw_parent": 0, "seq_id": -1, "scope": 7, "tid": 0, "fw_tid": 0, "op_schema": "",
      "inputs": [], "input_shapes": [], "input_types": [],
      "outputs": [], "output_shapes": [], "output_types": []
    }
  ],
  "finish_ts": 2000
})et";

/// Schema 1.1.1: arguments in objects, with strides; the rest in `attrs`. Process groups, a list of tensors,
/// a scalar that is no JSON (inf), a Triton kernel and an all-reduce.
inline constexpr std::string_view kNestedEt = R"et({
  "schema": "1.1.1-chakra.0.0.4", "pid": 78, "time": "2025-01-02 03:04:05", "start_ts": 1000,
  "nodes": [
    {
      "id": 2, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1,
      "inputs": {"values": [], "shapes": [], "types": [], "strides": []}, "outputs": {"values": [], "shapes": [], "types": [], "strides": []},
      "attrs": [{"name": "rf_id", "type": "uint64", "value": 0},{"name": "tid", "type": "uint64", "value": 1},{"name": "scope", "type": "uint64", "value": 7}]
    },
    {
      "id": 3, "name": "## process_group:init ##", "ctrl_deps": 2,
      "inputs": {"values": ["[{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": \"cuda:nccl\", \"ranks\": [], \"group_size\": 4, \"group_count\": 2}, {\"pg_name\": \"1\", \"pg_desc\": \"tp\", \"ranks\": [2, 3], \"group_size\": 2}]"], "shapes": [[]], "types": ["String"], "strides": [[]]},
      "outputs": {"values": [], "shapes": [], "types": [], "strides": []},
      "attrs": [{"name": "rf_id", "type": "uint64", "value": 1},{"name": "tid", "type": "uint64", "value": 1},{"name": "scope", "type": "uint64", "value": 7}]
    },
    {
      "id": 8, "name": "aten::cat", "ctrl_deps": 2,
      "inputs": {"values": [[[4, 5, 0, 6, 2, "cuda:1"], [6, 7, 2, 12, 2, "cuda:1"]], 0], "shapes": [[[1, 6], [2, 6]], []], "types": ["GenericList[Tensor(c10::Half),Tensor(c10::Half)]", "Int"], "strides": [[[6, 1], [1, 2]], []]},
      "outputs": {"values": [[9, 10, 0, 18, 2, "cuda:1"]], "shapes": [[3, 6]], "types": ["Tensor(c10::Half)"], "strides": [[6, 1]]
}
, "attrs" : [
  {"name" : "rf_id", "type" : "uint64", "value" : 2}, {"name" : "fw_parent", "type" : "uint64", "value" : 0},
  {"name" : "seq_id", "type" : "int64", "value" : 41}, {"name" : "scope", "type" : "uint64", "value" : 0},
  {"name" : "tid", "type" : "uint64", "value" : 1}, {"name" : "fw_tid", "type" : "uint64", "value" : 0},
  {"name" : "op_schema", "type" : "string", "value" : "aten::cat(Tensor[] tensors, int dim=0) -> Tensor"}
]
},
    {
      "id": 11, "name": "aten::clamp", "ctrl_deps": 2,
      "inputs": {"values": [[9, 10, 0, 18, 2, "cuda:1"], -inf, "<None>"], "shapes": [[3, 6], [], []], "types": ["Tensor(c10::Half)", "Double", "None"], "strides": [[6, 1]]},
      "outputs": {"values": [], "shapes": [], "types": [], "strides": []},
      "attrs": [{"name": "rf_id", "type": "uint64", "value": 3},{"name": "tid", "type": "uint64", "value": 1}]
    },
    {
      "id": 12, "name": "triton_poi_fused_add_0", "ctrl_deps": 2,
      "inputs": {"values": [[9, 10, 0, 18, 2, "cuda:1"], 18], "shapes": [[3, 6], []], "types": ["Tensor(c10::Half)", "Int"], "strides": [[6, 1], []]},
      "outputs": {"values": [], "shapes": [], "types": [], "strides": []},
      "attrs": [{"name": "rf_id", "type": "uint64", "value": 4},{"name": "tid", "type": "uint64", "value": 1},{"name": "kernel_backend", "type": "string", "value": "triton"},{"name": "kernel_file", "type": "string", "value": "abc.py"}]
    },
    {
      "id": 13, "name": "record_param_comms", "ctrl_deps": 2,
      "inputs": {"values": [[[9, 10, 0, 18, 2, "cuda:1"]], 47, ["1", "tp"], 0, "allreduce", [], [], 2, 1, 2], "shapes": [[[18]], [], [[], []], [], [], [], [], [], [], []], "types": ["GenericList[Tensor(c10::Half)]", "Int", "Tuple[String,String]", "Int", "String", "GenericList[]", "GenericList[]", "Int", "Int", "Int"], "strides": [[[1]], [], [[], []], [], [], [], [], [], [], []]},
      "outputs": {"values": [[[9, 10, 0, 18, 2, "cuda:1"]]], "shapes": [[[18]]], "types": ["GenericList[Tensor(c10::Half)]"], "strides": [[[1]]]},
      "attrs": [{"name": "rf_id", "type": "uint64", "value": 5},{"name": "tid", "type": "uint64", "value": 1},{"name": "collective_name", "type": "string", "value": "allreduce"},{"name": "dtype", "type": "string", "value": "Half"},{"name": "in_msg_nelems", "type": "uint64", "value": 18},{"name": "out_msg_nelems", "type": "uint64", "value": 18},{"name": "in_split_size", "type": "string", "value": "[]"},{"name": "out_split_size", "type": "string", "value": "[]"},{"name": "global_rank_start", "type": "uint64", "value": 2},{"name": "global_rank_stride", "type": "uint64", "value": 1},{"name": "pg_name", "type": "string", "value": "1"},{"name": "pg_desc", "type": "string", "value": "tp"},{"name": "pg_size", "type": "uint64", "value": 2}]
    },
    {
      "id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1,
      "inputs": {"values": [], "shapes": [], "types": [], "strides": []}, "outputs": {"values": [], "shapes": [], "types": [], "strides": []},
      "attrs": [{"name": "rf_id", "type": "uint64", "value": 0},{"name": "tid", "type": "uint64", "value": 0},{"name": "scope", "type": "uint64", "value": 7}]
    }
  ],
  "finish_ts": 2000
})et";

/// @p text with the first @p from replaced.
inline std::string edited(std::string_view text, std::string_view from, std::string_view to) {
  std::string made{text};
  const std::size_t at = made.find(from);
  return at == std::string::npos ? "" : made.replace(at, from.size(), to);
}

}  // namespace lockstep::testing
