#pragma once

/// @file
/// Parts that scenarios have in common, made once: a process makes them before it forks those that simulate
/// the scenarios, and they share its memory.

#include <cstdint>
#include <span>

#include "base/config_path.hpp"
#include "base/units.hpp"
#include "base/yaml_document.hpp"
#include "ops/host_overhead.hpp"
#include "ops/job.hpp"
#include "ops/workload/workload.hpp"
#include "topology/fabric.hpp"
#include "topology/peer_access.hpp"

namespace lockstep {

/// Parts of a scenario that are kept for those built later.
enum class SharedParts : std::uint8_t { Machine, MachineAndJob };

/// Builds the scenario of @p document and keeps its parts in place of those kept before. Scenarios built
/// later take over what is made of the same. A scenario that cannot be built leaves what it got to; who
/// builds it again says why.
void share_parts(const YamlDocument& document, const ConfigPath& configs, SharedParts parts);

/// Keeps no part any longer.
void forget_parts();

/// with_peer_access(), or what is kept of the same machine.
[[nodiscard]] Fabric peers_or_shared(const Fabric& fabric, const PeerAccess& access);

/// make_job(), or what is kept of the same workload on the same machine.
[[nodiscard]] Job job_or_shared(const WorkloadSpec& workload, const ParallelismSpec& parallelism,
                                const Fabric& fabric, const HostOverheads& host,
                                std::span<const Bytes> gpu_memory);

}  // namespace lockstep
