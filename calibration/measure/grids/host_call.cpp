#include <utility>

#include "calibration/measure/grids/grids.hpp"

namespace lockstep {
namespace {

/// A call, and the sizes it is called with: bytes of kernel arguments, of memory, nodes of a graph, or
/// 0.
struct Call {
  const char* operation;
  std::vector<std::int64_t> sizes;
};

const std::vector<Call>& calls() {
  static const std::vector<Call> all{
      {"launch", {0, 64, 512, 4000}},     // the call returns
      {"launch_to_start", {0}},           // the call begins -> the host sees what the kernel wrote first
      {"launch_and_synchronise", {0}},    // the call begins -> cudaStreamSynchronize returns
      {"kernel_to_kernel", {0}},          // starts of empty kernels in a queue, on the GPU's clock
      {"kernel_between_events", {0}},     // what two events around an empty kernel say
      {"events_alone", {0}},              // what two events with nothing between say
      {"graph_launch", {1, 16, 256}},     // the call returns
      {"graph_kernel_to_kernel", {256}},  // starts of empty kernels of one graph, on the GPU's clock
      {"memset_call", {1024, 1048576}},   // the call returns
      {"copy_call", {1024, 1048576}},     // cudaMemcpyAsync from pinned memory returns
      {"event_record", {0}},              // the call returns
      {"event_query", {0}},               // of an event that has happened
      {"event_synchronise", {0}},         // of an event that has happened
      {"stream_wait_event", {0}},         // the call returns
      {"stream_to_stream", {0}},          // starts of empty kernels that wait for one another across streams
      {"stream_synchronise", {0}},        // of an idle stream
      {"device_synchronise", {0}},        // of an idle device
      {"malloc", {1048576, 268435456}},   // cudaMalloc
      {"free", {1048576, 268435456}},     // cudaFree
      {"malloc_async", {1048576, 268435456}},  // from the pool that keeps what was freed
      {"pin", {1048576, 67108864}},            // cudaHostAlloc
  };
  return all;
}

std::vector<GridPoint> host_call_grid(const MachineLimits& /*limits*/, Extent /*extent*/) {
  PointSet points;
  for (const Call& call : calls()) {
    for (const std::int64_t size : call.sizes) {
      points.add(GridPoint{}.set("operation", call.operation).set("size", size));
    }
  }
  return std::move(points).points();
}

}  // namespace

Family host_call_family() {
  return {
      .name = "host_call",
      .what =
          "launches, launch to start, events, synchronisation, allocation: what calls and hand-overs cost",
      .parameters = {"operation", "size"},
      .facts = {},
      .rates = {},
      .grid = host_call_grid,
      .rates_of = [](const GridPoint&, Seconds) { return std::vector<double>{}; },
      .quick_point = Seconds{0.03},
      .full_point = Seconds{0.06}};
}

}  // namespace lockstep
