#pragma once

#include <string_view>
#include <vector>

#include "ops/caching_allocator.hpp"
#include "ops/memory.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Names of the host's work.
inline constexpr std::string_view kMallocCall = "cudaMalloc";
inline constexpr std::string_view kFreeCall = "cudaFree";

/// Calls of cudaMalloc and cudaFree that a step makes where the loop empties PyTorch's cache
/// (FrameworkSpec::empty_cache): the host makes them in front of what allocates the tensors, and the GPU goes
/// on with what is queued. Without it nothing: from the second step on all comes from the cache.
///
/// *Assumes* that each call takes the host as long (RuntimeCall::Malloc) whatever its size; that what an
/// operator frees at once, and gradients, find room in what was freed before them; that memory is not so full
/// that cudaMalloc fails and all free segments go back (a retry).
class AllocatorCalls {
 public:
  /// @throws std::invalid_argument when the host's file does not say what the calls take
  explicit AllocatorCalls(StepWriter& step);

  /// Allocates tensors that stay until a release().
  void keep(const Tensors& tensors);
  /// Frees those of the last keep() that was not released.
  void release();
  void end_step();

 private:
  [[nodiscard]] bool is_used() const { return step_.framework().empty_cache != EmptyCache::Never; }

  StepWriter& step_;
  CachingAllocator allocator_;
  std::vector<std::vector<CachingAllocator::Block>> kept_;  // by keep()
};

}  // namespace lockstep
