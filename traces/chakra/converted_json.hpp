#pragma once

#include <filesystem>

#include "traces/chakra/converted_nodes.hpp"

namespace lockstep::chakra {

/// Reads a Chakra trace that is JSON:
///   JSON-ET   `{"workload_graph": [{"Id": 1, "Name": "..", "NodeType": 4, "data_deps": [0], "runtime": 5,
///             "is_cpu_op": true}]}`, of feeders of 2023 and 2024
///   jsonizer  protobuf's JSON of metadata and nodes, one object after the other
/// @throws InputError with the line: no such JSON; what else it is, where that can be told
[[nodiscard]] ConvertedTrace read_converted_json(const std::filesystem::path& path);

}  // namespace lockstep::chakra
