#pragma once

#include <vector>

#include "sim/network/network.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// Every transfer has the machine to itself: size / min(cap, bandwidth / share). For users who want to see
/// what contention costs, by leaving it out.
class AloneNetwork final : public Network {
 public:
  explicit AloneNetwork(const Fabric& fabric) : fabric_{fabric} {}

  void prepare(const CollectivePlan& /*plan*/) override {}
  void start(TransferId transfer, const CollectivePlan& plan, std::span<const VertexId> members,
             double date) override;
  [[nodiscard]] double next_completion() override;
  TransferId complete_next() override;

 private:
  struct Completion {
    double date;
    TransferId transfer;
    bool operator<(const Completion& other) const {
      return date > other.date || (date == other.date && transfer > other.transfer);
    }
  };
  const Fabric& fabric_;
  std::vector<Completion> heap_;
};

}  // namespace lockstep
