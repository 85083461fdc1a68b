#include "ops/workload/compiled/compiled_graph.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

constexpr Seconds kGraph = 35.4_us, kGuard = 2.2_us, kLauncher = 4.8_us;

}  // namespace

HostOverheads with_compiled_graphs(HostOverheads host, std::size_t parameters) {
  OperatorOverhead graph;
  graph.before_first_launch = kGraph;
  graph.between_launches = kLauncher;
  graph.without_launch = kGraph;
  host.operators.try_emplace(kCompiledForward, graph);
  host.operators.try_emplace(kCompiledBackward, graph);
  graph.before_first_launch += kGuard * static_cast<double>(parameters);
  host.operators.try_emplace(kCompiledRegion, graph);
  return host;
}

}  // namespace lockstep
