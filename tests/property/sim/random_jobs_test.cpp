#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/support/contended_job.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/naive_executor.hpp"
#include "tests/support/rail_fabric.hpp"
#include "tests/support/random_job.hpp"
#include "tests/support/timeline_checks.hpp"

namespace lockstep::testing {
namespace {

/// Two nodes of 8 GPUs with two NICs, so that groups that span nodes contend.
Fabric machine(double faster = 1, LinkKind kind = LinkKind::Network) {
  const Fabric plain = rail_fabric(2, 2);
  std::vector<Vertex> vertices{plain.vertices().begin(), plain.vertices().end()};
  std::vector<Link> links{plain.links().begin(), plain.links().end()};
  for (Link& link : links) {
    link.bandwidth = link.kind == kind ? faster * link.bandwidth : link.bandwidth;
  }
  return {std::move(vertices), std::move(links)};
}

/// Ranks by turns on the first and the second node.
std::vector<VertexId> spread(const Fabric& fabric) {
  std::vector<VertexId> gpus;
  for (std::size_t rank = 0; rank < 8; ++rank) {
    gpus.push_back(fabric.gpus()[rank % 2 * 8 + rank / 2]);
  }
  return gpus;
}

SimulationInput random_input(const Job& job, const Fabric& fabric, const CollectivePlanner& planner,
                             const RandomJob& random, double variation) {
  auto input = input_of(job, fabric, planner);
  input.gpu_models.front().launch_queue = random.launch_queue;
  input.gpu_models.front().kernel_gap = Seconds{kTick};
  input.gpu_models.front().launch_to_start = Seconds{2 * kTick};
  input.variation = variation > 0 ? jitter(variation) : Variation{};
  return input;
}

TEST(RandomJobs, RunToTheirEndAlikeWithAndWithoutSteps) {
  const Fabric fabric = machine();
  const CollectivePlanner planner{fabric};
  holds("bare == stepped", 300, [&] {
    const RandomJob random = *random_job();
    const Job job = made(random, spread(fabric));
    check(job);
    const auto input = random_input(job, fabric, planner, random, 0.1);
    const auto bare = agreement_of(simulate(input, options_for(EngineMode::Bare), nullptr));
    const auto stepped = agreement_of(simulate(input, options_for(EngineMode::Bare, true), nullptr));
    RC_ASSERT(bare.makespan == stepped.makespan);
    RC_ASSERT(bare.fingerprint == stepped.fingerprint);
  });
}

TEST(RandomJobs, RunAlikeOnAllEnginesAndNaively) {
  const Fabric fabric = machine();
  const CollectivePlanner planner{fabric};
  holds("all engines agree", 25, [&] {
    const RandomJob random = *random_job();
    const Job job = made(random, spread(fabric));
    const auto input = random_input(job, fabric, planner, random, 0.1);
    const Agreement naive = in_child([&] {
      const NaiveResult result = simulate_naively(input);
      return Agreement{result.makespan, result.fingerprint, result.launches};
    });
    for (const auto& [name, options] : every_engine()) {
      if (name != "bare" && name != "bare, stepped") {
        RC_LOG() << name << std::endl;
        RC_ASSERT(simulated_in_child(input, options) == naive);
      }
    }
    RC_ASSERT(agreement_of(simulate(input, options_for(EngineMode::Bare), nullptr)) == naive);
  });
}

/// Real actors go through all dates in global time; objects go ahead of it while nothing communicates.
TEST(RandomJobs, SlowDownAlikeInGlobalTimeAndAheadOfIt) {
  const Fabric fabric = machine();
  const CollectivePlanner planner{fabric};
  holds("interference is the same in global time and ahead of it", 25, [&] {
    const RandomJob random = *random_job();
    const Job job = made(random, spread(fabric));
    auto input = random_input(job, fabric, planner, random, 0.1);
    for (GpuSpec& model : input.gpu_models) {
      model.sm_count = 100;
      model.communication = {20, 0.2};
    }
    const SimulationOptions ahead{.engine = EngineMode::Bare, .interference = true};
    const SimulationOptions actors{.engine = EngineMode::S4u, .interference = true};
    RC_ASSERT(simulated_in_child(input, ahead) == simulated_in_child(input, actors));
  });
}

/// Every date is a maximum of sums of durations, so none can fall when a duration grows, as long as transfers
/// do not share links. Where they do, scheduling anomalies are real (R. Graham, "Bounds on multiprocessing
/// timing anomalies", 1969): a faster link ends one transfer earlier, what follows it starts earlier and
/// slows down a third one that the end waited for. Hence `alone` for any job, and `shared` for one transfer
/// at a time.
TEST(RandomJobs, AreNeverSlowerWithTwiceTheBandwidth) {
  CollectiveOptions fixed;  // another bandwidth must not choose another algorithm
  fixed.algorithm = {{CollectiveKind::AllReduce, CommAlgorithm::Ring}};
  const Fabric plain = machine();
  const CollectivePlanner planner{plain, fixed};
  for (const LinkKind kind : {LinkKind::Network, LinkKind::NvLink, LinkKind::Pcie}) {
    const Fabric doubled = machine(2, kind);
    const CollectivePlanner faster_planner{doubled, fixed};
    for (const NetworkMode network : {NetworkMode::Alone, NetworkMode::Shared}) {
      double gained = 0;
      holds("twice the bandwidth", 100, [&] {
        RandomJob random = *random_job();
        if (network == NetworkMode::Shared) {
          random.members = {0, 0, 0};  // everybody in every group ...
          for (RandomOperation& op : random.operations) {
            if (op.kind == RandomOperation::Kind::Collective) {
              op.stream = 0;  // ... on one stream: one transfer at a time
            }
          }
        }
        const Job job = made(random, spread(plain));
        const auto options = options_for(EngineMode::Bare, false, network);
        const auto before = simulate(random_input(job, plain, planner, random, 0.1), options, nullptr);
        const auto after =
            simulate(random_input(job, doubled, faster_planner, random, 0.1), options, nullptr);
        const double ratio = after.makespan() / before.makespan();
        RC_ASSERT(ratio <= 1 + 1e-12);
        gained = std::max(gained, 1 - ratio);
      });
      if (kind == LinkKind::Network) {
        EXPECT_GT(gained, 0.1) << "some job should be bound by the network";  // at most from 50 to PCIe's 63
      }
    }
  }
}

/// Nodes may be swapped, and GPUs of a node shifted along its NICs: the machine looks the same, so makespans
/// are the same. The order of the GPUs within their node stays, because ties between equally good rings are
/// broken by it (as NCCL does), and a broadcast along another ring takes another time.
TEST(RandomJobs, DoNotDependOnWhichGpuIsCalledWhat) {
  const Fabric fabric = rail_fabric(2);
  const CollectivePlanner planner{fabric};
  holds("an automorphism of the machine", 200, [&] {
    const RandomJob random = *random_job();
    const int shift = *among(0, 5);  // up to the last of a node's eight GPUs
    std::vector<VertexId> here;
    std::vector<VertexId> there;
    for (std::size_t rank = 0; rank < 8; ++rank) {
      const std::size_t node = rank % 2;
      const std::size_t place = rank / 2;
      here.push_back(fabric.gpus()[node * 8 + place]);
      there.push_back(fabric.gpus()[(1 - node) * 8 + place + static_cast<std::size_t>(shift)]);
    }
    const auto makespan = [&](const Job& job) {
      return simulate(random_input(job, fabric, planner, random, 0.1), options_for(EngineMode::Bare), nullptr)
          .makespan();
    };
    const double ratio = makespan(made(random, here)) / makespan(made(random, there));
    RC_ASSERT(std::abs(ratio - 1) < 1e-9);
  });
}

/// Each piece begins where the one before it on the path ends, and the first no later than the last step: the
/// pieces add up to the step, or to more where its work began before the step before it had ended.
TEST(RandomJobs, CriticalPathsAddUpToTheLastStep) {
  const Fabric fabric = machine();
  const CollectivePlanner planner{fabric};
  holds("sum of the pieces", 300, [&] {
    const RandomJob random = *random_job();
    const Job job = made(random, spread(fabric));
    for (const bool interference : {false, true}) {
      auto input = random_input(job, fabric, planner, random, 0.1);
      input.gpu_models.front().sm_count = 100;
      input.gpu_models.front().communication = {20, 0.2};
      SimulationOptions options = options_for(EngineMode::Bare);
      options.interference = interference;
      const auto result = simulate(input, options, nullptr);
      const auto& ends = result.step_ends;
      const double step = ends.back() - (ends.size() > 1 ? ends[ends.size() - 2] : 0);
      double sum = 0;
      for (const CriticalShare& share : result.critical_path) {
        sum += share.seconds;
      }
      RC_ASSERT(sum >= step - 1e-9 * ends.back());
      RC_ASSERT(sum <= ends.back() * (1 + 1e-9));
      RC_ASSERT(ends.size() > 1 || std::abs(sum - step) <= 1e-9 * step);
    }
  });
}

/// The bytes on each link are those that the edges of the collectives send along their routes, step by step.
TEST(RandomJobs, ConserveBytesOnEveryLink) {
  const Fabric fabric = rail_fabric(2);
  const CollectivePlanner planner{fabric};
  double moved = 0;
  holds("bytes", 100, [&] {
    const RandomJob random = *random_job();
    const auto gpus = spread(fabric);
    const Job job = made(random, gpus);
    const auto input = random_input(job, fabric, planner, random, 0);
    const auto result = simulate(input, options_for(EngineMode::Bare), nullptr);
    std::map<LinkId, double> expected;
    for (const RandomOperation& op : random.operations) {
      if (op.kind != RandomOperation::Kind::Collective) {
        continue;
      }
      std::vector<VertexId> members;
      for (const std::uint32_t rank : members_of(random, static_cast<std::size_t>(op.operand))) {
        members.push_back(gpus[rank]);
      }
      const CollectiveCall call = random_call(op, 0);
      const auto plan = planner.plan({call.kind, call.type, call.size, 0, 0, {}}, members);
      for (const CommEdge& edge : plan.edges) {
        const auto from = members[static_cast<std::size_t>(edge.src)];
        const auto to = members[static_cast<std::size_t>(edge.dst)];
        for (const LinkId link : fabric.route(from, to).links) {
          expected[link] += edge.share * plan.size.in_base_units() * random.steps;
        }
      }
    }
    RC_ASSERT(result.links.size() == expected.size());
    std::vector<double> balance(fabric.vertices().size(), 0);  // in minus out
    double total = 0;
    for (const LinkUse& use : result.links) {
      RC_ASSERT(std::abs(use.bytes - expected.at(use.link)) <= 1e-9 * use.bytes);
      balance[fabric.links()[use.link].to] += use.bytes;
      balance[fabric.links()[use.link].from] -= use.bytes;
      total += use.bytes;
    }
    for (VertexId vertex = 0; vertex < balance.size(); ++vertex) {
      if (fabric.vertices()[vertex].kind != VertexKind::Gpu) {
        RC_ASSERT(std::abs(balance[vertex]) <= 1e-9 * total);  // switches and NICs pass on what they get
      }
    }
    moved += total;
  });
  EXPECT_GT(moved, 1e9);
}

/// The path of a single step goes from its end back to 0 without a hole.
TEST(RandomJobs, HaveACriticalPathAsLongAsTheStep) {
  const Fabric fabric = machine();
  const CollectivePlanner planner{fabric};
  holds("critical path", 200, [&] {
    RandomJob random = *random_job();
    random.steps = 1;
    const Job job = made(random, spread(fabric));
    const auto result =
        simulate(random_input(job, fabric, planner, random, 0.1), options_for(EngineMode::Bare), nullptr);
    double path = 0;
    for (const CriticalShare& share : result.critical_path) {
      RC_LOG() << share.what << " " << share.seconds / kTick << " ticks in " << share.pieces << std::endl;
      path += share.seconds;
    }
    RC_LOG() << "makespan " << result.makespan() / Seconds{kTick} << std::endl;
    RC_ASSERT(std::abs(path / result.makespan().in_base_units() - 1) < 1e-9);
  });
}

TEST(RandomJobs, HaveTimelinesThatAddUp) {
  const Fabric fabric = machine();
  const CollectivePlanner planner{fabric};
  holds("timeline", 200, [&] {
    const RandomJob random = *random_job();
    const Job job = made(random, spread(fabric));
    Recording recording;
    const auto result =
        simulate(random_input(job, fabric, planner, random, 0.1), options_for(EngineMode::Bare), &recording);
    RC_ASSERT(complaint_about(recording.spans(), result) == "");
  });
}

/// Each member of a ring all-reduce of n sends 2 (n-1)/n of the buffer, whatever its neighbours are.
TEST(RingAllReduce, SendsTwoTimesNMinusOneOverNOfTheBuffer) {
  const Fabric fabric = rail_fabric(1);
  const CollectivePlanner planner{fabric, rings()};
  for (const std::uint32_t n : {2U, 3U, 5U, 8U}) {
    ProcessGroup world{"world", {}};
    std::vector<Script> scripts;
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      world.ranks.push_back(rank);
      scripts.push_back(Script({"s"}, {"world"}).all_reduce(0, 0, Bytes{6e6}).all_reduce(0, 0, Bytes{1e6}));
    }
    const Job job = job_of(fabric, scripts, {world}, 3);
    const auto result = simulate(input_of(job, fabric, planner), options_for(EngineMode::Bare), nullptr);
    std::map<VertexId, double> sent;
    for (const LinkUse& use : result.links) {
      sent[fabric.links()[use.link].from] += use.bytes;
    }
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      EXPECT_DOUBLE_EQ(sent[fabric.gpus()[rank]], 3 * 7e6 * 2 * (n - 1) / n);
    }
  }
}

}  // namespace
}  // namespace lockstep::testing
