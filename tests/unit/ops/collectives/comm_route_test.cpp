#include "ops/collectives/comm_route.hpp"

#include <gmock/gmock.h>

#include "tests/support/small_machines.hpp"

namespace lockstep {
namespace {

using testing::all_gpus;
using ::testing::ElementsAre;

std::vector<std::string> stops(const Fabric& fabric, const Route& route) {
  std::vector<std::string> names;
  for (const LinkId link : route.links) {
    names.push_back(fabric.vertices()[fabric.links()[link].to].name);
  }
  return names;
}

TEST(CommRoute, PassesThroughTheGpuWithTheWidestWay) {
  const Fabric fabric = testing::hybrid_cube_mesh();
  const NvLinks nvlinks{fabric};
  const auto gpus = all_gpus(fabric);
  const auto way = [&](std::size_t from, std::size_t to) {
    return stops(fabric, comm_route(fabric, nvlinks, gpus[from], gpus[to], 0));
  };
  EXPECT_THAT(way(0, 3), ElementsAre("node0.gpu3"));  // linked
  EXPECT_THAT(way(0, 7),
              ElementsAre("node0.gpu4", "node0.gpu7"));  // double links; by GPU 3 the second is single
  EXPECT_THAT(way(0, 6), ElementsAre("node0.gpu2", "node0.gpu6"));  // as wide as by GPU 4: the lower number
  EXPECT_EQ(comm_route(fabric, nvlinks, gpus[0], gpus[7], 0).latency, Seconds{1.4e-6});
}

TEST(CommRoute, IsTheFabricsElsewhere) {
  const Fabric fabric = testing::rail_cluster(2, 2);
  const NvLinks nvlinks{fabric};
  const auto gpus = all_gpus(fabric);
  for (const VertexId from : gpus) {
    for (const VertexId to : gpus) {
      EXPECT_EQ(comm_route(fabric, nvlinks, from, to, 3).links, fabric.route(from, to, 3).links);
    }
  }
}

TEST(NvLinks, FindsLinksSideBySide) {
  const Fabric fabric = testing::hybrid_cube_mesh();
  const NvLinks nvlinks{fabric};
  const auto gpus = all_gpus(fabric);
  EXPECT_EQ(nvlinks.leaving(gpus[0]).size(), 6u);
  const Route wide = fabric.route(gpus[0], gpus[3]);
  const Route narrow = fabric.route(gpus[0], gpus[1]);
  EXPECT_EQ(nvlinks.bundle_of(wide.links.front()).size(), 2u);
  EXPECT_EQ(nvlinks.bundle_of(narrow.links.front()).size(), 1u);
}

}  // namespace
}  // namespace lockstep
