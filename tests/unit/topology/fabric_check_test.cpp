#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "tests/unit/topology/machines.hpp"
#include "topology/fabric.hpp"

namespace lockstep {
namespace {

using namespace lockstep::testing;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Two GPUs and a link each way; tests break one thing.
class BrokenFabric : public ::testing::Test {
 protected:
  BrokenFabric() {
    drawing_.add(gpu(0, 0));
    drawing_.add(gpu(0, 1));
    drawing_.connect(0, 1, kNvLink);
  }

  void expect_complaint(const std::string& what) {
    EXPECT_THAT([&] { build(drawing_); }, ThrowsMessage<std::invalid_argument>(HasSubstr(what)));
  }

  Drawing drawing_;
};

TEST_F(BrokenFabric, IsWholeBeforeItIsBroken) {
  EXPECT_NO_THROW(build(drawing_));
}

TEST_F(BrokenFabric, ZeroBandwidth) {
  drawing_.links[1].bandwidth = 0_GBps;
  expect_complaint("the link from 'node0.gpu1' to 'node0.gpu0' has bandwidth 0");
}

TEST_F(BrokenFabric, NegativeBandwidth) {
  drawing_.links[0].bandwidth = -1.0 * 1_GBps;
  expect_complaint("it must be positive");
}

TEST_F(BrokenFabric, InfiniteOrUndefinedBandwidth) {
  drawing_.links[0].bandwidth = BytesPerSecond{std::numeric_limits<double>::infinity()};
  expect_complaint("it must be positive");
  drawing_.links[0].bandwidth = BytesPerSecond{std::numeric_limits<double>::quiet_NaN()};
  expect_complaint("it must be positive");
}

TEST_F(BrokenFabric, NegativeLatency) {
  drawing_.links[0].latency = -1.0 * 1_ns;
  expect_complaint("the link from 'node0.gpu0' to 'node0.gpu1' has latency -1 ns");
}

TEST_F(BrokenFabric, SelfLink) {
  drawing_.connect_one_way(1, 1, kNvLink);
  expect_complaint("a link joins 'node0.gpu1' to itself");
}

TEST_F(BrokenFabric, UnknownVertex) {
  drawing_.connect_one_way(0, 2, kNvLink);
  expect_complaint("link 2 has an end 2, but there are 2 vertices");
}

TEST_F(BrokenFabric, TwoVerticesOfOneName) {
  drawing_.vertices[1].name = "node0.gpu0";
  expect_complaint("two vertices are called 'node0.gpu0'");
}

TEST_F(BrokenFabric, TwoLinksOfOneName) {
  drawing_.links[0].name = drawing_.links[1].name = "cable";
  expect_complaint("two links are called 'cable'");
}

TEST_F(BrokenFabric, LonelyGpu) {
  drawing_.add(gpu(0, 2));
  expect_complaint("no route from GPU 'node0.gpu0' to GPU 'node0.gpu2'");
}

TEST_F(BrokenFabric, OneWayStreet) {
  drawing_.links.erase(drawing_.links.begin());  // gpu1 -> gpu0 remains
  expect_complaint("no route from GPU 'node0.gpu0' to GPU 'node0.gpu1'");
}

// a -> hub <- b: both reach the hub, nobody comes back.
TEST_F(BrokenFabric, SinkSwitch) {
  drawing_.links.clear();
  const auto hub = drawing_.add(device(VertexKind::NvSwitch, 0, 0));
  drawing_.connect_one_way(0, hub, kNvLink);
  drawing_.connect_one_way(1, hub, kNvLink);
  expect_complaint("no route from GPU");
}

// A chain a - b - c without a switch: b is a GPU and does not forward.
TEST_F(BrokenFabric, ChainThroughAGpu) {
  drawing_.connect(1, drawing_.add(gpu(0, 2)), kNvLink);
  expect_complaint("no route from GPU 'node0.gpu0' to GPU 'node0.gpu2'");
}

// Four GPUs, all pairs linked, no switch at all: fine although nothing forwards.
TEST(Reachability, FullMeshNeedsNoSwitch) {
  Drawing drawing;
  for (int i = 0; i < 4; ++i) {
    drawing.add(gpu(0, i));
    for (VertexId other = 0; other + 1 < drawing.vertices.size(); ++other) {
      drawing.connect(other, static_cast<VertexId>(i), kNvLink);
    }
  }
  EXPECT_NO_THROW(build(drawing));
}

}  // namespace
}  // namespace lockstep
