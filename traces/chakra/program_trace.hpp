#pragma once

/// @file
/// Programs as Chakra execution traces (schema 0.0.4 and 1.0.0, whose wire format is the same) and back. What
/// other tools read are nodes with dependencies; what a Program says besides stands in attributes of our own,
/// so that what comes back is what was written. docs/chakra.md lists them.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "ops/program.hpp"
#include "traces/chakra/chakra_spec.hpp"

namespace lockstep::chakra {

/// `schema` of the metadata of such traces.
inline constexpr std::string_view kProgramSchema = "lockstep-program.1";

/// `op` of a host node.
[[nodiscard]] std::string_view name_of_opcode(Opcode op);

/// The kind of the traces that a scenario names, by the metadata of the first.
enum class TraceKind : std::uint8_t {
  Graph,          ///< work of the GPU and its dependencies; durations hold the gaps between kernels
  Program,        ///< written by us: hosts launch what GPUs do
  ProgramOfGraph  ///< written by us of a Graph: durations hold the gaps
};

/// Graph for files that cannot be read too: whoever reads them says what is wrong.
[[nodiscard]] TraceKind kind_of_traces(const ChakraSpec& spec, const std::filesystem::path& folder);

}  // namespace lockstep::chakra
