#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ops/gpu/gpu_spec.hpp"
#include "ops/job.hpp"
#include "traces/chakra/node_notes.hpp"

namespace lockstep {

/// A Job, and the GPUs that its kernels are timed on.
struct TimedJob {
  const Job* job = nullptr;
  std::span<const GpuSpec> gpu_models;
  std::span<const std::uint32_t> gpu_model_of_rank;  ///< by rank: index into gpu_models
  bool has_launches = true;  ///< false: durations hold the gaps between kernels, as other traces' do
  const chakra::NodeNotes* notes = nullptr;  ///< for other readers
};

/// The readers of the traces: Lockstep and all who read host threads, or ASTRA-sim (chakra/gpu_nodes.hpp).
enum class ChakraDialect : std::uint8_t { Lockstep, AstraSim };

/// The files that a Job's traces go to.
struct ChakraFiles {
  std::filesystem::path folder;
  std::string prefix = "rank";  ///< files are `PREFIX.0.et`, `PREFIX.1.et`, ...; groups `PREFIX.groups.json`
  bool gzip = false;            ///< `.et.gz`
  ChakraDialect dialect = ChakraDialect::Lockstep;
  bool fold = false;  ///< ranks that do alike share a file; Lockstep's dialect alone (ProcessGroups::of_rank)

  [[nodiscard]] std::string name_of(const std::string& rank) const {
    return prefix + "." + rank + (gzip ? ".et.gz" : ".et");
  }
  [[nodiscard]] std::string name_of_groups() const { return prefix + ".groups.json"; }
};

/// The size and number of the written traces.
struct ChakraExport {
  std::uint64_t nodes_bytes = 0;  ///< of all different traces, before compression
  std::uint32_t different = 0;    ///< ranks that do the very same share a file (hard links)
};

/// One step of @p job as Chakra execution traces, a file a rank, and its process groups as a JSON file. Each
/// file appears when it is whole.
/// @param on_rank called with the number of ranks that are written
/// @throws InputError when a file cannot be written
/// @throws std::invalid_argument as chakra::trace_of_rank()
ChakraExport write_chakra(const TimedJob& job, const ChakraFiles& files,
                          const std::function<void(std::uint32_t)>& on_rank);

}  // namespace lockstep
