#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/critical_path.hpp"
#include "sim/executor.hpp"
#include "sim/host_links.hpp"

namespace lockstep {

/// The parts of a critical path, by kind, with the predictions behind each kind and the link that bounds
/// it.
class PathShares {
 public:
  explicit PathShares(Executor& executor) : executor_{executor}, host_links_{executor} {}

  void charge(const std::string& what, PathPart part, double seconds);
  /// A share of host work is of an operation. Nothing where nothing was charged.
  void note_operation(const std::string& what, const std::string& operation);
  void charge_kernel(const Rank& owner, const Instruction& instruction, double seconds);
  /// A copy, or a kernel that reads or writes host memory, of rank @p number.
  void charge_transfer(std::uint32_t number, const Instruction& instruction, double seconds);
  void charge_collective(std::uint32_t number, const CollectiveCall& call, double seconds);

  /// All shares, the longest first; called once.
  [[nodiscard]] std::vector<CriticalShare> take();

 private:
  /// A plan and its loads, which a folded job keeps apart from it. Null: never planned.
  struct Planned {
    const CollectivePlan* plan = nullptr;
    const std::vector<LinkLoad>* loads = nullptr;
  };

  template <class Make>
  void rest_on(const std::string& what, double size, double seconds, const Make& make);
  [[nodiscard]] Planned planned_for(std::uint32_t number, const CollectiveCall& call);
  void note_bottleneck(CriticalShare& share, const Planned& planned, double seconds) const;

  Executor& executor_;
  HostLinks host_links_;
  std::map<std::string, CriticalShare> shares_;
  std::map<std::pair<std::string, double>, std::size_t> places_;  // in CriticalShare::predictions
};

}  // namespace lockstep
