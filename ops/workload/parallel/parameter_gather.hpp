#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// Parameters that the same ranks hold, and gather in one collective.
struct GatherPart {
  std::int64_t elements = 0;
  std::int64_t narrow = 0;  ///< of these, weights that travel and are kept in FP8
  std::int64_t frozen = 0;  ///< and those that are kept as they travel: shares in FP32 are the optimizer's
  Bytes size{0};            ///< of all ranks' shares together, as they travel and as they are kept
};

/// Parameters that are gathered at a time.
struct GatherUnit {
  GatherPart dense, expert;
};

/// zero3: collects the shares of parameters before they are used, some units ahead. A unit is a layer, or
/// the embedding with the head, as FSDP wraps them; a layer's experts are gathered behind the rest of it,
/// over their own replicas, as torchtitan wraps them. Where a rank holds all of them, nothing is gathered.
/// With other shardings nothing is written. With `offload: parameters` the rank's own share comes from host
/// memory first, in the type of matrix products (DeepSpeed's offload_param; FSDP copies it in FP32).
///
/// *Source*: Zhao et al., arXiv 2304.11277 (PyTorch FSDP), sections 3.2.1, 3.3.2 (prefetching) and 3.4 (rate
/// limiter); Rajbhandari et al., arXiv 2104.07857 (ZeRO-Infinity), section 5.1;
/// torchtitan/models/llama4/infra/parallelize.py, apply_fsdp (experts).
class ParameterGather {
 public:
  ParameterGather(const LayerScope& scope, std::vector<GatherUnit> units)
      : scope_{scope}, units_{std::move(units)} {}

  /// The units that are used next, in this order.
  void plan(std::vector<std::size_t> order);

  /// @p unit is used now: it is there when what follows on the compute stream starts.
  void use(std::size_t unit);

  /// It is not needed until the next use(). @param drops false: kept although it could be dropped
  void done(std::size_t unit, bool drops);

 private:
  [[nodiscard]] bool is_needed() const;
  [[nodiscard]] std::vector<std::pair<GatherPart, bool>> parts(std::size_t unit) const;
  void gather(std::size_t unit);
  [[nodiscard]] EventId gather(const GatherPart& part, const Replication& of);
  [[nodiscard]] EventId put_together(const GatherPart& part, const Replication& of, EventId gathered);
  void copy_in(const GatherPart& part, int ranks);
  void copy_out(std::size_t unit);
  [[nodiscard]] EventId gather_shares(Bytes size, const Replication& of);
  [[nodiscard]] bool is_offloaded() const;

  const LayerScope& scope_;
  std::vector<GatherUnit> units_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;  // in order_, to be gathered
  std::size_t used_ = 0;
  std::map<std::size_t, std::vector<EventId>> ready_;
  std::set<std::size_t> copied_;  ///< out of the buffer of the gather, fsdp2
};

}  // namespace lockstep
