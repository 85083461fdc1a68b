#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "tests/support/contended_job.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/rail_fabric.hpp"
#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

constexpr std::array kNetworks{std::pair{"shared", NetworkMode::Shared},
                               std::pair{"flows", NetworkMode::Flows},
                               std::pair{"alone", NetworkMode::Alone}};

/// A ring all-reduce of n members takes 2 (n-1) steps of one route's latency alpha, and moves 2 (n-1)/n of
/// the buffer over each link of bandwidth B (Patarasuk and Yuan 2009):
///   T = 2 (n-1) alpha + 2 (n-1)/n size / B
/// Neighbours are joined by two NVLinks of 1 us each; B = 450 GB/s.
TEST(RingAllReduceAlone, TakesItsClosedForm) {
  const Fabric fabric = rail_fabric(1);
  const CollectivePlanner planner{fabric, rings()};
  for (const int n : {2, 4, 8}) {
    for (const Bytes size : {Bytes{1e3}, Bytes{100e6}}) {
      std::vector<Script> scripts;
      ProcessGroup world{"world", {}};
      for (int rank = 0; rank < n; ++rank) {
        scripts.push_back(Script({"communication"}, {"world"}).all_reduce(0, 0, size));
        world.ranks.push_back(static_cast<std::uint32_t>(rank));
      }
      const Job job = job_of(fabric, scripts, {world});
      const double steps = 2.0 * (n - 1);
      const double expected = steps * 2e-6 + steps / n * (size / Bytes{1}) / 450e9;
      for (const auto& [name, network] : kNetworks) {
        const auto options = options_for(EngineMode::RunAhead, false, network);
        const double makespan = simulated_in_child(input_of(job, fabric, planner), options).makespan;
        EXPECT_NEAR(makespan, expected, 1e-6 * expected) << name << ", n = " << n << ", " << to_string(size);
      }
    }
  }
}

// The protocol moves 45 GB/s out of a GPU whose NVLink could carry 450: 4 ranks send 2 x 3/4 of 100 MB each,
// so 150 MB / 45 GB/s, after 6 steps of 2 us.
TEST(RingAllReduceAlone, IsHeldToItsPlansBound) {
  const Fabric fabric = rail_fabric(1);
  CollectiveOptions slow = rings();
  for (auto* costs : {&slow.profile.ring.ll, &slow.profile.ring.ll128, &slow.profile.ring.simple}) {
    if (*costs) {
      (*costs)->max_bus_bandwidth = BytesPerSecond{45e9};
    }
  }
  const CollectivePlanner planner{fabric, slow};
  std::vector<Script> scripts;
  for (int rank = 0; rank < 4; ++rank) {
    scripts.push_back(Script({"communication"}, {"world"}).all_reduce(0, 0, Bytes{100e6}));
  }
  const Job job = job_of(fabric, scripts, {{"world", {0, 1, 2, 3}}});
  const double expected = 6 * 2e-6 + 150e6 / 45e9;
  for (const auto& [name, network] : kNetworks) {
    const auto options = options_for(EngineMode::RunAhead, false, network);
    const double makespan = simulated_in_child(input_of(job, fabric, planner), options).makespan;
    EXPECT_NEAR(makespan, expected, 1e-6 * expected) << name;
  }
}

/// The all-to-all without PXN: as many bytes on every edge.
CollectiveOptions pairs(CollectiveOptions options) {
  options.algorithm[CollectiveKind::AllToAll] = CommAlgorithm::Direct;
  return options;
}

/// 64 GPUs of 8 nodes: at once, each rank takes part in a ring of its node (tensor parallel) on stream 0, a
/// ring of its rail (data parallel) on stream 1, and an all-to-all of everybody (experts) on stream 2. The
/// latter crosses the links of both others.
class RailsRingsAndAllToAll : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kRanks = 64;
  Fabric fabric_ = rail_fabric(kRanks / 8);
  CollectivePlanner planner_{fabric_, pairs(rings())};
  CollectivePlanner trees_{fabric_, pairs({})};  // chooses double binary trees for the rails
  CollectivePlanner pxn_{fabric_, rings()};

  static std::vector<std::uint32_t> every(std::uint32_t first, std::uint32_t stride, std::uint32_t count) {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t i = 0; i < count; ++i) {
      ranks.push_back(first + i * stride);
    }
    return ranks;
  }

  /// @param skew delay of each rank's start, in ticks per rank number
  Job job(double skew) const {
    std::vector<ProcessGroup> groups{{"world", every(0, 1, kRanks)}};
    for (std::uint32_t i = 0; i < 8; ++i) {
      groups.push_back({fmt::format("node{}", i), every(8 * i, 1, 8)});
      groups.push_back({fmt::format("rail{}", i), every(i, 8, 8)});
    }
    std::vector<Script> scripts;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      Script script({"tensor", "data", "expert"},
                    {fmt::format("node{}", rank / 8), fmt::format("rail{}", rank % 8), "world"});
      script.work(skew * rank);
      for (const double size : {40e6, 90e6, 60e6}) {
        script.all_reduce(0, 0, Bytes{size});
        script.all_reduce(1, 1, Bytes{size / 8});
        script.collective(2, {CollectiveKind::AllToAll, DataType::FP32, 2, Bytes{size / 20}, {}, 0});
      }
      scripts.push_back(script);
    }
    return job_of(fabric_, scripts, groups);
  }

  /// The end of each collective of each rank, by rank, stream and order.
  std::vector<double> ends(const Job& job, NetworkMode network, const CollectivePlanner& planner) const {
    const auto input = input_of(job, fabric_, planner);
    return in_child([&] {
      Recording recording;
      (void)simulate(input, options_for(EngineMode::RunAhead, false, network), &recording);
      std::vector<double> ends;
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        for (std::uint8_t stream = 0; stream < 3; ++stream) {
          for (const TimelineSpan& span : recording.gpu(rank, stream)) {
            ends.push_back(span.end);
          }
        }
      }
      return ends;
    });
  }

  struct Difference {
    double shared = 0;  // makespans, s
    double flows = 0;
    double makespan = 0;  // relative
    double worst = 0;     // of the end of any collective
    [[nodiscard]] std::string text() const {
      return fmt::format("shared {:.9f} s, flows {:.9f} s ({:+.4f} %); worst end {:.4f} %", shared, flows,
                         100 * makespan, 100 * worst);
    }
  };
  [[nodiscard]] Difference shared_against_flows(const Job& job, const CollectivePlanner& planner) const {
    const auto shared = ends(job, NetworkMode::Shared, planner);
    const auto flows = ends(job, NetworkMode::Flows, planner);
    EXPECT_EQ(shared.size(), kRanks * 9);
    EXPECT_EQ(flows.size(), shared.size());
    Difference difference;
    difference.shared = *std::max_element(shared.begin(), shared.end());
    difference.flows = *std::max_element(flows.begin(), flows.end());
    difference.makespan = difference.shared / difference.flows - 1;
    for (std::size_t i = 0; i < std::min(shared.size(), flows.size()); ++i) {
      difference.worst = std::max(difference.worst, std::abs(shared[i] / flows[i] - 1));
    }
    return difference;
  }
};

TEST_F(RailsRingsAndAllToAll, SharedAgreesWithFlowsWithinHalfAPercent) {
  for (const double skew : {0.0, 0.3}) {
    const Difference difference = shared_against_flows(job(skew), planner_);
    fmt::print("rings, {:.1f} ticks apart: {}\n", skew, difference.text());
    EXPECT_LT(std::abs(difference.makespan), 0.005);
    EXPECT_LT(difference.worst, 0.005);
  }
}

/// The edges of a tree carry unequal shares, and the thin ones of them end early as flows; in `shared` they
/// all keep to the pace of the thickest.
TEST_F(RailsRingsAndAllToAll, TreesAgreeWithFlowsWithinFivePercent) {
  const Difference difference = shared_against_flows(job(0.3), trees_);
  fmt::print("trees on the rails: {}\n", difference.text());
  EXPECT_LT(difference.worst, 0.05);
}

/// PXN's messages inside the node and between nodes are unequal in the same way.
TEST_F(RailsRingsAndAllToAll, PxnAgreesWithFlowsWithinOnePercent) {
  const Difference difference = shared_against_flows(job(0.3), pxn_);
  fmt::print("PXN beside rings: {}\n", difference.text());
  EXPECT_LT(difference.worst, 0.01);
}

TEST_F(RailsRingsAndAllToAll, NothingEndsLaterWhenItHasTheMachineToItself) {
  const Job job = this->job(0.3);
  const auto alone = ends(job, NetworkMode::Alone, planner_);
  const auto shared = ends(job, NetworkMode::Shared, planner_);
  ASSERT_EQ(alone.size(), shared.size());
  std::size_t slowed = 0;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_LE(alone[i], shared[i] * (1 + 1e-12));
    slowed += alone[i] < 0.99 * shared[i] ? 1 : 0;
  }
  EXPECT_GT(slowed, alone.size() / 4) << "this job should contend for links";
}

}  // namespace
}  // namespace lockstep::testing
