#include "ops/workload/module_buffers.hpp"

#include <numeric>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

EventId broadcast_together(StepWriter& step, const ModuleBuffers& buffers) {
  const std::int64_t all = std::accumulate(buffers.elements.begin(), buffers.elements.end(), std::int64_t{0});
  step.op("aten::flatten_dense_tensors",
          {kernels::concat(all, static_cast<std::int64_t>(buffers.elements.size()), buffers.type)});
  step.program().begin("c10d::broadcast_");
  const EventId end = step.communicate({.kind = CollectiveKind::Broadcast,
                                        .type = buffers.type,
                                        .size = static_cast<double>(all) * size_of(buffers.type),
                                        .send_bytes = {}});
  step.program().end();
  return end;
}

}  // namespace

void broadcast_buffers(StepWriter& step, std::span<const ModuleBuffers> buffers) {
  if (step.ranks() == 1 || step.framework().apex || !step.framework().broadcast_buffers) {
    return;
  }
  std::vector<EventId> ends;
  for (const ModuleBuffers& of_type : buffers) {
    ends.push_back(broadcast_together(step, of_type));
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    step.wait_for(ends[i]);
    step.program().begin("aten::unflatten_dense_tensors");
    for (const std::int64_t elements : buffers[i].elements) {
      step.launch(kernels::copy_on_device(static_cast<double>(elements) * size_of(buffers[i].type)));
    }
    step.program().end();
  }
}

}  // namespace lockstep
