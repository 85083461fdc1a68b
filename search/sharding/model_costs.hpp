#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/gpu/gpu_spec.hpp"
#include "ops/kernel.hpp"
#include "search/sharding/cost_model.hpp"
#include "search/sharding/exchange_costs.hpp"
#include "search/sharding/input_costs.hpp"

namespace lockstep::sharding {

/// Lockstep's own models as the judge of a step's embedding part, fast: FBGEMM's table-batched lookup and
/// fused backward pass (ops/kernels/embedding.hpp) with the passes over the lookups around them, and the
/// exchanges.
///
///   kernel       minimum + the times that DRAM, caches, host link, the waits of all bags and
///                forward the longest bag's wait need alone (ops/kernels/embedding_load.hpp), forward by
///                look_up_time(), backward the largest; all but the last are sums over the device's pieces
///   passes       over the lookups: 84 + 24 p bytes each for p passes of the sort (p = rows' bits / 8), over
///                the pooled rows: 20 bytes an element both ways together
///   inputs       an index for each lookup and an offset for each bag, copied before the lookup over links
///                that ranks share (InputCosts)
///   total        max over devices of inputs + compute + exposed (forward + backward exchange)
///
/// *Assumes* one kernel for all of a device's pieces, not bound by the instructions it issues (rows that the
/// caches hold); lookups enough for a block on each SM; formulas, not networks, for its kernels. *Valid for*
/// comparing plans: a simulation of the step says what it takes. *Source*: the kernels of
/// ops/workload/layers/embedding_bag.cpp and embedding_exchange.cpp, the copies of
/// ops/workload/dlrm_inputs.cpp.
class ModelCosts final : public CostModel {
 public:
  struct Setup {
    std::vector<GpuSpec> gpus;                   ///< the kinds that there are
    std::vector<std::uint32_t> gpu_of_device{};  ///< which of them; empty: all are the first
    Optimizer optimizer = Optimizer::Sgd;
    std::int64_t batch = 0;  ///< all ranks
    double rows = 1;         ///< of all tables: how far the sort has to go
    double exposed = 1;      ///< share of the exchanges that nothing hides, 0 to 1
    /// Costs of the indices that come to a rank within the step. Null: they come ahead of it, or not table by
    /// table. The object must outlive the costs.
    const InputCosts* inputs = nullptr;
  };

  /// The exchanges must outlive it.
  ModelCosts(Setup setup, const ExchangeCosts& forward, const ExchangeCosts& backward);

  [[nodiscard]] std::uint32_t kind_of(std::uint32_t device) const override {
    return setup_.gpu_of_device.empty() ? 0 : setup_.gpu_of_device[device];
  }
  [[nodiscard]] Load load_of(const Table& table, std::int64_t columns, std::uint32_t kind) const override;
  [[nodiscard]] Seconds compute(const Load& load) const override;
  [[nodiscard]] Estimate estimate(std::span<const Seconds> compute, std::span<const double> widths,
                                  std::span<const double> indices) const override;

  /// No plan for @p task takes less, whole or cut by columns: devices equally busy, each at its GPU's speed,
  /// exchanges at their best; but no piece may take longer by itself, and a table that has to be cut for that
  /// is looked up by each of its pieces. Where devices share a link for their inputs, those with most of them
  /// wait for all, and the others spare only what these then look up (counted where GPUs are of one kind).
  /// Memory is not asked for.
  [[nodiscard]] Seconds at_least(const Task& task) const;

 private:
  // Places in Load::sums, seconds: of forward, then, from kBackward on, of backward; waits are those of all
  // bags one after the other.
  static constexpr std::size_t kDram = 0;
  static constexpr std::size_t kLevel2 = 1;
  static constexpr std::size_t kWaits = 2;
  static constexpr std::size_t kHost = 3;
  static constexpr std::size_t kBlockWaits = 4;
  static constexpr std::size_t kBackward = 5;
  static constexpr std::size_t kPasses = 10;
  static constexpr std::size_t kInputs = 11;

  using Weights = std::array<double, Load::kSums>;
  class CopiesBound;

  class KindsBound;

  /// A GPU, and what follows from it.
  struct Kind {
    GpuSpec gpu;
    std::int64_t at_a_time = 1;  ///< copies of a table for which the cache is shared as among many tables
    double pass = 0;             ///< s for each lookup
    double element = 0;          ///< s for each element of the pooled rows
    std::size_t device = 0;      ///< one of the kind

    [[nodiscard]] Seconds launches() const { return 2 * gpu.kernel_minimum + gpu.efficiency->first_row; }
  };

  [[nodiscard]] Weights deciding(const Load& load) const;
  [[nodiscard]] Weights tangent(const Load& load) const;
  [[nodiscard]] Load cut_evenly(const Table& table, std::int64_t columns, std::uint32_t kind) const;
  void add(const EmbeddingTable& piece, Direction direction, const Kind& kind, Load& load) const;

  Setup setup_;
  const ExchangeCosts& forward_;
  const ExchangeCosts& backward_;
  std::vector<Kind> kinds_;
};

}  // namespace lockstep::sharding
