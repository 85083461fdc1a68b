#include "scenario/shared_parts.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/yaml_text.hpp"
#include "base/yaml_value.hpp"
#include "scenario/placed_machine.hpp"
#include "scenario/resolved_scenario.hpp"
#include "scenario/scenario_file.hpp"

namespace lockstep {
namespace {

/// Whether both are copies of one machine, in one order of ranks.
bool is_same(const Fabric& a, const Fabric& b) {
  return a.vertices().data() == b.vertices().data() && a.gpus().data() == b.gpus().data() &&
         a.network() == b.network();
}

struct KeptPeers {
  Fabric of;
  PeerAccess access;
  Fabric fabric;
};

struct KeptJob {
  Fabric fabric;
  std::string made_of;  ///< workload and host, as YAML
  ParallelismSpec parallelism;
  std::vector<Bytes> gpu_memory;
  Job job;
};

/// The parts that this process keeps. It has one thread when it makes them.
struct Kept {
  std::optional<SharedParts> asked;  ///< what the build that goes on is to keep
  std::optional<KeptPeers> peers;
  std::optional<KeptJob> job;
};

Kept& kept() {
  static Kept parts;
  return parts;
}

std::string text_of(const WorkloadSpec& workload, const HostOverheads& host) {
  return flow_text(yaml_of(workload)) + '\n' + flow_text(yaml_of(host));
}

}  // namespace

void share_parts(const YamlDocument& document, const ConfigPath& configs, SharedParts parts) {
  Kept& all = kept();
  all.job.reset();
  all.asked = parts;
  try {
    if (parts == SharedParts::MachineAndJob) {
      (void)build(document, configs);
    } else {
      auto scenario = read_document<ScenarioSpec>(document, configs);
      (void)placed_machine(document, scenario, configs);
    }
  } catch (const std::exception&) {  // who builds it again says why
  }
  all.asked.reset();
}

void forget_parts() {
  kept() = {};
}

Fabric peers_or_shared(const Fabric& fabric, const PeerAccess& access) {
  Kept& parts = kept();
  if (parts.peers && is_same(parts.peers->of, fabric) && parts.peers->access == access) {
    return parts.peers->fabric;
  }
  if (!parts.asked) {
    return with_peer_access(fabric, access);
  }
  parts.peers.reset();  // before the next one takes memory
  parts.peers = KeptPeers{fabric, access, with_peer_access(fabric, access)};
  return parts.peers->fabric;
}

Job job_or_shared(const WorkloadSpec& workload, const ParallelismSpec& parallelism, const Fabric& fabric,
                  const HostOverheads& host, std::span<const Bytes> gpu_memory) {
  std::optional<KeptJob>& known = kept().job;
  if (known && is_same(known->fabric, fabric) && known->parallelism == parallelism &&
      std::ranges::equal(known->gpu_memory, gpu_memory) && known->made_of == text_of(workload, host)) {
    return known->job;
  }
  Job job = make_job(workload, parallelism, fabric, host, gpu_memory);
  if (kept().asked == SharedParts::MachineAndJob) {
    known =
        KeptJob{fabric, text_of(workload, host), parallelism, {gpu_memory.begin(), gpu_memory.end()}, job};
  }
  return job;
}

}  // namespace lockstep
