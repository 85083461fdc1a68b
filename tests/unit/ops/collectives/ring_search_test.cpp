#include "ops/collectives/ring_search.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace lockstep {
namespace {

/// Takes the links of directed rings away; false when one is used twice.
bool are_disjoint(const LinkCounts& links, const std::vector<std::vector<int>>& rings) {
  LinkCounts left = links;
  for (const auto& ring : rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const auto from = static_cast<std::size_t>(ring[i]);
      const auto to = static_cast<std::size_t>(ring[(i + 1) % ring.size()]);
      if (--left[from][to] < 0) {
        return false;
      }
    }
  }
  return true;
}

/// The first n GPUs of a DGX-1V (pairs as in tests/support/small_machines.hpp).
LinkCounts cube_mesh(std::size_t n) {
  const LinkCounts all{{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
                       {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                       {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  LinkCounts some(n);
  for (std::size_t i = 0; i < n; ++i) {
    some[i].assign(all[i].begin(), all[i].begin() + static_cast<std::ptrdiff_t>(n));
  }
  return some;
}

TEST(FindRings, FillsTheHybridCubeMesh) {
  // Six links a GPU make at most 3 cycles = 6 rings; measured: 134.5 GB/s = 6 x 22.4 (vTrain, v100_AR_GPU8).
  // Four GPUs have four links each, so 2 cycles = 4 rings (85.4 GB/s); seven have at least four (87 GB/s); of
  // six, GPU 4 keeps three links, so 1 cycle = 2 rings (45.7); three, likewise 2 (45.1); two have one link
  // (22.5). Of five, GPU 4 reaches GPU 0 only, with two links: 1 cycle that passes GPU 0 twice.
  const std::vector<std::size_t> expected{1, 2, 4, 2, 2, 4, 6};
  for (std::size_t n = 2; n <= 8; ++n) {
    const auto rings = find_rings(cube_mesh(n));
    EXPECT_EQ(rings.size(), expected[n - 2]) << n << " GPUs";
    EXPECT_TRUE(n == 5 || are_disjoint(cube_mesh(n), rings)) << n << " GPUs";
    for (const auto& ring : rings) {
      EXPECT_EQ(ring.size(), n);
    }
  }
}

/// 4 has links to 0 alone, two of them: 4 - 0 and 3 - 0 - 4 take both. With one link there is no way back.
TEST(FindRings, PassGpusTwiceWhereThereIsNoCycle) {
  const auto rings = find_rings(cube_mesh(5));
  ASSERT_EQ(rings.size(), 2u);
  EXPECT_THAT(rings[0], ::testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(rings[1], ::testing::ElementsAre(0, 4, 3, 2, 1));
  LinkCounts narrow = cube_mesh(5);
  narrow[0][4] = narrow[4][0] = 1;
  EXPECT_TRUE(find_rings(narrow).empty());
}

TEST(FindRings, TwoGpusHaveOneRingALink) {
  EXPECT_THAT(find_rings({{0, 3}, {3, 0}}), ::testing::Each(::testing::ElementsAre(0, 1)));
  EXPECT_EQ(find_rings({{0, 3}, {3, 0}}).size(), 3u);
}

TEST(FindRings, NoneWithoutACycle) {
  EXPECT_TRUE(find_rings({{0, 1, 0}, {1, 0, 1}, {0, 1, 0}}).empty());  // a path
  EXPECT_TRUE(find_rings({{0}}).empty());
}

}  // namespace
}  // namespace lockstep
