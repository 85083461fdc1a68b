#include "ops/workload/allocator_calls.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace lockstep {

AllocatorCalls::AllocatorCalls(StepWriter& step) : step_{step} {
  const HostOverheads& host = step.program().host();
  for (const RuntimeCall call : {RuntimeCall::Malloc, RuntimeCall::Free}) {
    if (is_used() && !host.runtime_calls.contains(call)) {
      throw std::invalid_argument{
          fmt::format("framework.empty_cache needs what cudaMalloc and cudaFree take: host '{}' has no "
                      "'runtime_calls.{}', e.g. 0.5 ms",
                      host.name, name_of(call))};
    }
  }
}

void AllocatorCalls::keep(const Tensors& tensors) {
  if (!is_used()) {
    return;
  }
  const std::size_t before = allocator_.malloc_calls();
  std::vector<CachingAllocator::Block>& blocks = kept_.emplace_back();
  for (const Bytes size : tensors) {
    blocks.push_back(allocator_.allocate(size));
  }
  for (std::size_t call = before; call < allocator_.malloc_calls(); ++call) {
    step_.program().host_work(kMallocCall, step_.program().host().duration_of(RuntimeCall::Malloc));
  }
}

void AllocatorCalls::release() {
  if (!is_used()) {
    return;
  }
  for (const CachingAllocator::Block block : kept_.back()) {
    allocator_.release(block);
  }
  kept_.pop_back();
}

void AllocatorCalls::end_step() {
  if (!is_used()) {
    return;
  }
  step_.program().wait_device();  // cudaFree does
  if (step_.framework().empty_cache == EmptyCache::BetweenSteps) {
    return;
  }
  while (!kept_.empty()) {
    release();
  }
  allocator_.empty_cache();
  for (std::size_t call = 0; call < allocator_.free_calls(); ++call) {
    step_.program().host_work(kFreeCall, step_.program().host().duration_of(RuntimeCall::Free));
  }
}

}  // namespace lockstep
