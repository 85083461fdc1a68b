#include "ops/caching_allocator.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace lockstep {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1024} * 1024;
constexpr std::int64_t kMinBlockSize = 512;
constexpr std::int64_t kSmallSize = kMiB;         // the largest small block
constexpr std::int64_t kSmallBuffer = 2 * kMiB;   // segment of small blocks
constexpr std::int64_t kLargeBuffer = 20 * kMiB;  // segment of blocks below kMinLargeAlloc
constexpr std::int64_t kMinLargeAlloc = 10 * kMiB;
constexpr std::int64_t kRoundLarge = 2 * kMiB;

std::int64_t rounded_up(std::int64_t size, std::int64_t to) {
  return (size + to - 1) / to * to;
}

std::int64_t segment_size(std::int64_t size) {
  if (size <= kSmallSize) {
    return kSmallBuffer;
  }
  return size < kMinLargeAlloc ? kLargeBuffer : rounded_up(size, kRoundLarge);
}

}  // namespace

CachingAllocator::Block CachingAllocator::allocate(Bytes bytes) {
  const auto wanted = std::max<std::int64_t>(std::llround(bytes.in_base_units()), 1);
  const std::int64_t size = rounded_up(wanted, kMinBlockSize);
  const bool is_small = size <= kSmallSize;
  const Block block = take(is_small, size);
  split(block, size);
  return block;
}

/// A free block of at least that size, which is then in use.
CachingAllocator::Block CachingAllocator::take(bool is_small, std::int64_t size) {
  FreeParts& free = free_.at(is_small ? 0 : 1);
  const auto found = free.lower_bound({size, 0});
  if (found == free.end()) {
    return new_segment(is_small, segment_size(size));
  }
  const Block block = found->second;
  free.erase(found);
  parts_[block].is_free = false;
  return block;
}

CachingAllocator::Block CachingAllocator::new_segment(bool is_small, std::int64_t size) {
  ++malloc_calls_;
  reserved_ += size;
  parts_.push_back({.size = size, .is_small = is_small});
  return parts_.size() - 1;
}

void CachingAllocator::split(Block block, std::int64_t size) {
  const std::int64_t rest = parts_[block].size - size;
  const bool is_small = parts_[block].is_small;
  if (is_small ? rest < kMinBlockSize : rest <= kSmallSize) {
    return;
  }
  const Block next = parts_.size(), after = parts_[block].after;
  parts_.push_back({.size = rest, .is_small = is_small, .is_free = true, .before = block, .after = after});
  parts_[block].size = size;
  parts_[block].after = next;
  if (after != kNone) {
    parts_[after].before = next;
  }
  free_parts(parts_[next]).insert({rest, next});
}

void CachingAllocator::release(Block block) {
  if (parts_.at(block).is_free) {
    throw std::logic_error{"CachingAllocator: the block is free already"};
  }
  const Block before = parts_[block].before, after = parts_[block].after;
  parts_[block].is_free = true;
  if (after != kNone && parts_[after].is_free) {
    free_parts(parts_[after]).erase({parts_[after].size, after});
    join(block, after);
  }
  Block whole = block;
  if (before != kNone && parts_[before].is_free) {
    free_parts(parts_[before]).erase({parts_[before].size, before});
    join(before, block);
    whole = before;
  }
  free_parts(parts_[whole]).insert({parts_[whole].size, whole});
}

/// The second becomes part of the first.
void CachingAllocator::join(Block first, Block second) {
  parts_[first].size += parts_[second].size;
  parts_[first].after = parts_[second].after;
  if (parts_[second].after != kNone) {
    parts_[parts_[second].after].before = first;
  }
}

void CachingAllocator::empty_cache() {
  for (FreeParts& free : free_) {
    std::erase_if(free, [this](const auto& entry) {
      const Part& part = parts_[entry.second];
      const bool is_whole_segment = part.before == kNone && part.after == kNone;
      if (is_whole_segment) {
        ++free_calls_;
        reserved_ -= part.size;
      }
      return is_whole_segment;
    });
  }
}

}  // namespace lockstep
