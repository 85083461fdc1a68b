#include "ops/caching_allocator.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace lockstep {
namespace {

constexpr Bytes mebibytes(double count) {
  return Bytes{count * 1024 * 1024};
}

TEST(CachingAllocator, GivesLargeTensorsSegmentsOfTheirOwn) {
  CachingAllocator allocator;
  allocator.allocate(mebibytes(16));
  allocator.allocate(mebibytes(33.5));
  EXPECT_EQ(allocator.malloc_calls(), 2);
  EXPECT_EQ(allocator.reserved(), mebibytes(16 + 34)) << "multiples of 2 MiB";
}

// Five tensors of 4 MiB fit into a segment of 20 MiB.
TEST(CachingAllocator, PacksMiddlingTensors) {
  CachingAllocator allocator;
  for (int tensor = 0; tensor < 6; ++tensor) {
    allocator.allocate(mebibytes(4));
  }
  EXPECT_EQ(allocator.malloc_calls(), 2);
  EXPECT_EQ(allocator.reserved(), mebibytes(40));
}

TEST(CachingAllocator, KeepsSmallTensorsApart) {
  CachingAllocator allocator;
  const auto large = allocator.allocate(mebibytes(4));
  allocator.release(large);
  allocator.allocate(mebibytes(1));
  EXPECT_EQ(allocator.malloc_calls(), 2) << "1 MiB does not come from what is left of 20 MiB";
  allocator.allocate(Bytes{1});
  allocator.allocate(mebibytes(1) - Bytes{512});
  EXPECT_EQ(allocator.malloc_calls(), 2) << "512 B and 1 MiB less 512 B fill the 2 MiB";
  allocator.allocate(Bytes{1});
  EXPECT_EQ(allocator.malloc_calls(), 3);
}

TEST(CachingAllocator, ReusesTheSmallestBlockThatIsLargeEnough) {
  CachingAllocator allocator;
  const auto largest = allocator.allocate(mebibytes(64));
  const auto middle = allocator.allocate(mebibytes(32));
  allocator.release(largest);
  allocator.release(middle);
  allocator.allocate(mebibytes(30));  // of the 32, and leaves 2
  allocator.allocate(mebibytes(64));
  EXPECT_EQ(allocator.malloc_calls(), 2);
  allocator.allocate(mebibytes(2));
  EXPECT_EQ(allocator.malloc_calls(), 2);
}

// A rest of 1 MiB stays with its block: nothing is left for another.
TEST(CachingAllocator, DoesNotSplitOffAMebibyte) {
  CachingAllocator allocator;
  allocator.release(allocator.allocate(mebibytes(12)));
  allocator.allocate(mebibytes(11));
  allocator.allocate(mebibytes(1.5));
  EXPECT_EQ(allocator.malloc_calls(), 2);
}

TEST(CachingAllocator, JoinsFreeNeighbours) {
  CachingAllocator allocator;
  std::vector<CachingAllocator::Block> blocks;
  for (int tensor = 0; tensor < 5; ++tensor) {
    blocks.push_back(allocator.allocate(mebibytes(4)));
  }
  for (const int tensor : {1, 3, 2, 0, 4}) {
    allocator.release(blocks[static_cast<std::size_t>(tensor)]);
  }
  allocator.allocate(mebibytes(20));
  EXPECT_EQ(allocator.malloc_calls(), 1);
}

TEST(CachingAllocator, EmptiesOnlySegmentsOfWhichNothingIsInUse) {
  CachingAllocator allocator;
  const auto kept = allocator.allocate(mebibytes(4));
  allocator.release(allocator.allocate(mebibytes(4)));
  allocator.release(allocator.allocate(mebibytes(100)));
  allocator.empty_cache();
  EXPECT_EQ(allocator.free_calls(), 1);
  EXPECT_EQ(allocator.reserved(), mebibytes(20));
  allocator.release(kept);
  allocator.empty_cache();
  EXPECT_EQ(allocator.free_calls(), 2);
  EXPECT_EQ(allocator.reserved(), Bytes{0});
}

TEST(CachingAllocator, RefusesToFreeTwice) {
  CachingAllocator allocator;
  const auto block = allocator.allocate(mebibytes(4));
  allocator.release(block);
  EXPECT_THROW(allocator.release(block), std::logic_error);
}

}  // namespace
}  // namespace lockstep
