#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "ops/program.hpp"
#include "traces/import_report.hpp"

namespace lockstep::chakra {

/// Content of one Chakra execution trace, counted.
struct TraceSummary {
  /// Collectives of a kind.
  struct Communication {
    std::uint64_t count = 0;
    double bytes = 0;  ///< as CollectiveCall::size counts
  };

  std::string file;
  std::string kind;  ///< who wrote it, or what it holds: `GPU work`, ...
  std::string schema;
  std::uint64_t nodes = 0;  ///< that take time, and others that are left out
  std::uint64_t host = 0, kernels = 0, other = 0;
  std::map<std::string, Communication> collectives;  ///< by kind
  std::uint64_t dependencies = 0;
  std::uint64_t threads = 0, streams = 0;
  double gpu_seconds = 0;  ///< of kernels
  ImportReport report;
};

/// Whether a file is a Chakra trace rather than another kind: the wire format of any schema, or JSON as
/// converters write it. False for what cannot be read.
[[nodiscard]] bool is_chakra(const std::filesystem::path& path);

/// Reads a trace as a simulation would: the wire format (schemas 0.0.4 to 1.0.0, gzip or not), JSON.
/// @throws InputError as their readers, with what to do about schema 0.0.1
[[nodiscard]] TraceSummary summarise(const std::filesystem::path& path);

}  // namespace lockstep::chakra
