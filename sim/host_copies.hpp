#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/executor_spec.hpp"
#include "sim/network/network.hpp"
#include "sim/rank.hpp"

namespace lockstep {

/// Copies between GPUs and host memory: how each crosses the links, and the copy engines of GPUs, of which
/// each takes one copy at a time.
class HostCopies {
 public:
  struct Use {
    CollectivePlan plan;
    std::array<VertexId, 2> ends{};
    std::uint64_t uses = 0;
  };
  using EngineId = std::uint64_t;  ///< a GPU and a direction; one more for what needs no engine

  /// @param spec must outlive it
  explicit HostCopies(const ExecutorSpec& spec) : spec_{spec} {}

  /// How kernel @p kernel of @p rank's program crosses the links; made once.
  Use& plan(const Rank& rank, std::uint32_t kernel);

  /// The engine that kernel @p kernel of @p rank needs.
  EngineId engine_for(const Rank& rank, std::uint32_t kernel);

  /// False: all engines are busy, and @p copy queues for the next that is free.
  bool take(EngineId engine, TransferId copy);

  /// @return the copy that takes it now, if one queues
  std::optional<TransferId> give_back(EngineId engine);

  /// Keeps when a copy of a stream took place, in order.
  void keep(std::uint32_t rank, std::uint8_t stream, const RendezvousRecord& record) {
    records_[{rank, stream}].push_back(record);
  }
  [[nodiscard]] const std::vector<RendezvousRecord>& records(std::uint32_t rank, std::uint8_t stream) const {
    return records_.at({rank, stream});
  }

  /// Keyed by GPU, program and kernel.
  [[nodiscard]] const std::map<std::array<std::uint32_t, 3>, Use>& uses() const { return uses_; }

 private:
  struct Engines {
    int free = 1;
    std::deque<TransferId> queue;
  };

  const ExecutorSpec& spec_;
  std::map<std::array<std::uint32_t, 3>, Use> uses_;  // addresses are kept
  std::unordered_map<EngineId, Engines> engines_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::vector<RendezvousRecord>> records_;
};

}  // namespace lockstep
