#include "sim/host_copies.hpp"

#include <limits>
#include <utility>
#include <variant>

#include "sim/copy_plan.hpp"
#include "sim/folding/folding.hpp"

namespace lockstep {

HostCopies::Use& HostCopies::plan(const Rank& rank, std::uint32_t kernel) {
  const VertexId gpu = rank.assignment().gpu;
  const std::array<std::uint32_t, 3> key{gpu, rank.assignment().program, kernel};
  if (const auto known = uses_.find(key); known != uses_.end()) {
    return known->second;
  }
  CollectivePlan plan = copy_plan(host_traffic(rank.program().kernels[kernel]),
                                  Seconds{rank.timing_of(kernel).seconds}, [&](Memcpy::Path path) {
                                    return spec_.folding != nullptr
                                               ? spec_.folding->copy_loads(rank.number(), path)
                                               : loads_of(copy_route(*spec_.fabric, gpu, path));
                                  });
  return uses_.emplace(key, Use{std::move(plan), {spec_.fabric->host_memory_of(gpu), gpu}, 0}).first->second;
}

HostCopies::EngineId HostCopies::engine_for(const Rank& rank, std::uint32_t kernel) {
  const KernelCall& call = rank.program().kernels[kernel];
  const auto* copy = std::get_if<Memcpy>(&call.work);
  const bool to_host = copy != nullptr && copy->path == Memcpy::Path::DeviceToHost;
  const bool queues = needs_copy_engine(call);
  const EngineId engine = EngineId{rank.assignment().gpu} << 2U | (to_host ? 1U : 0U) | (queues ? 0U : 2U);
  const int engines = queues ? rank.timing().copy_engines : std::numeric_limits<int>::max();
  engines_.try_emplace(engine, Engines{engines, {}});
  return engine;
}

bool HostCopies::take(EngineId engine, TransferId copy) {
  Engines& engines = engines_.at(engine);
  if (engines.free == 0) {
    engines.queue.push_back(copy);
    return false;
  }
  --engines.free;
  return true;
}

std::optional<TransferId> HostCopies::give_back(EngineId engine) {
  Engines& engines = engines_.at(engine);
  if (engines.queue.empty()) {
    ++engines.free;
    return std::nullopt;
  }
  const TransferId next = engines.queue.front();
  engines.queue.pop_front();
  return next;
}

}  // namespace lockstep
