#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/contended_job.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/rail_fabric.hpp"
#include "tests/support/random_job.hpp"
#include "tests/support/same_result.hpp"
#include "tests/support/timeline_checks.hpp"

namespace lockstep::testing {
namespace {

/// Folded and in full, which must be the same. @return how many ranks were simulated folded
std::uint32_t fold_and_compare(const SimulationInput& input, SimulationOptions options, std::string& what) {
  options.fold = false;
  const SimulationResult full = simulate(input, options, nullptr);
  options.fold = true;
  const SimulationResult folded = simulate(input, options, nullptr);
  what = difference(full, folded);
  return folded.simulated_ranks;
}

std::vector<NamedOptions> bare_options() {
  std::vector<NamedOptions> all;
  for (const auto& [name, network] :
       {std::pair{"shared", NetworkMode::Shared}, {"alone", NetworkMode::Alone}}) {
    for (const bool stepped : {false, true}) {
      for (const bool interference : {false, true}) {
        SimulationOptions options = options_for(EngineMode::Bare, stepped, network);
        options.interference = interference;
        all.push_back(
            {fmt::format("{}{}{}", name, stepped ? ", stepped" : "", interference ? ", interference" : ""),
             options});
      }
    }
  }
  return all;
}

class ContendedJob : public ::testing::Test {
 protected:
  Fabric fabric_ = rail_fabric(8);
  CollectivePlanner planner_{fabric_};
  Job job_ = contended_job(fabric_, 64, 2);
  SimulationInput input_ = input_for(
      job_, fabric_, [this](const auto& request, auto members) { return planner_.plan(request, members); });
};

TEST_F(ContendedJob, OfAlikeRanksIsThatOfFew) {
  for (const auto& [name, options] : bare_options()) {
    std::string what;
    const std::uint32_t simulated = fold_and_compare(input_, options, what);
    EXPECT_EQ(what, "") << name;
    EXPECT_LE(simulated, 8U) << name;  // nodes are alike
  }
}

TEST_F(ContendedJob, WithASlowGpuAndASlowHostIsTheSame) {
  input_.gpu_factor.assign(64, 1.0);
  input_.gpu_factor[13] = 1.37;
  input_.host_factor.assign(64, 1.0);
  input_.host_factor[40] = 2.5;
  for (const auto& [name, options] : bare_options()) {
    std::string what;
    const std::uint32_t simulated = fold_and_compare(input_, options, what);
    EXPECT_EQ(what, "") << name;
    EXPECT_LT(simulated, 64U) << name;
  }
}

TEST_F(ContendedJob, InSimGridIsTheSame) {
  SimulationOptions options = options_for(EngineMode::RunAhead);
  const Agreement full = simulated_in_child(input_, options);
  options.fold = true;
  EXPECT_EQ(simulated_in_child(input_, options), full);
}

TEST_F(ContendedJob, WithJitterIsSimulatedInFull) {
  input_.variation = jitter(0.1);
  SimulationOptions options = options_for(EngineMode::Bare);
  options.fold = true;
  EXPECT_EQ(simulate(input_, options, nullptr).simulated_ranks, 64U);
}

/// Lanes of a rank that is not simulated are those of the one that is.
TEST_F(ContendedJob, HasTheTimelineOfAnyRank) {
  Recording full;
  simulate(input_, options_for(EngineMode::Bare), &full);
  SimulationOptions options = options_for(EngineMode::Bare);
  options.fold = true;
  Recording folded;
  Simulation simulation{input_, options};
  simulation.run(&folded, std::vector<std::uint32_t>{3, 42, 63});
  const auto of_rank = [](const Recording& recording, std::uint32_t rank) {
    std::vector<TimelineSpan> spans;
    for (const TimelineSpan& span : recording.spans()) {
      if (span.rank == rank) {
        spans.push_back(span);
      }
    }
    std::ranges::stable_sort(spans, {}, [](const TimelineSpan& s) {
      return std::tuple{s.kind == SpanKind::Kernel || s.kind == SpanKind::Collective, s.thread, s.stream,
                        s.start, s.instruction};
    });
    return spans;
  };
  for (const std::uint32_t rank : {3U, 42U, 63U}) {
    const auto expected = of_rank(full, rank);
    const auto actual = of_rank(folded, rank);
    ASSERT_EQ(actual.size(), expected.size());
    ASSERT_FALSE(actual.empty());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].start, expected[i].start);
      ASSERT_EQ(actual[i].end, expected[i].end);
      ASSERT_EQ(actual[i].transfer_start, expected[i].transfer_start);
      ASSERT_EQ(actual[i].correlation, expected[i].correlation);
    }
  }
  EXPECT_TRUE(of_rank(folded, 4).empty());
}

/// The same random program on several copies of its groups: ranks n k, n k + 1, ... do what ranks 0, 1, ...
/// of the random job do, and two of its groups are joined over all copies or not at random.
Job copied(const RandomJob& random, const Fabric& fabric, std::uint32_t copies, bool joined) {
  const auto ranks = static_cast<std::uint32_t>(random.ranks);
  const Job one = made(random, {fabric.gpus().begin(), fabric.gpus().end()});
  Job job;
  job.steps = one.steps;
  job.programs = one.programs;
  std::vector<std::vector<std::uint32_t>> group_of(copies);  // by copy and group
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    for (std::uint32_t group = 0; group < one.groups.size(); ++group) {
      const bool shared = joined && group == 0;
      if (!shared || copy == 0) {
        job.groups.push_back({fmt::format("{}.{}", one.groups[group].name, copy), {}});
      }
      group_of[copy].push_back(shared && copy > 0 ? group_of[0][group]
                                                  : static_cast<std::uint32_t>(job.groups.size() - 1));
      for (const std::uint32_t rank : one.groups[group].ranks) {
        job.groups[group_of[copy][group]].ranks.push_back(copy * ranks + rank);
      }
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      RankAssignment assignment = one.ranks[rank];
      assignment.gpu = fabric.gpus()[copy * 8 + rank];
      for (std::uint32_t& group : assignment.groups) {
        group = group_of[copy][group];
      }
      job.ranks.push_back(std::move(assignment));
    }
  }
  return job;
}

/// Ends each step of @p job with a few bytes of all ranks, which wait for what is under way or do not, and
/// are waited for or not.
void add_lone_call(Job& job, bool waits, bool holds_up) {
  const auto all = static_cast<std::uint32_t>(job.groups.size());
  job.groups.push_back({"all", {}});
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    job.groups[all].ranks.push_back(rank);
    job.ranks[rank].groups.push_back(all);
  }
  for (auto& shared : job.programs) {
    Program program = *shared;
    const auto group = static_cast<std::uint32_t>(program.groups.size());
    const auto call = static_cast<std::uint32_t>(program.collectives.size());
    program.groups.emplace_back("all");
    program.collectives.push_back({CollectiveKind::AllReduce, DataType::FP32, group, Bytes{4}, {}, 0});
    auto& instructions = program.threads[0].instructions;
    if (waits) {
      instructions.push_back({Opcode::WaitDevice, 0, false, 0, 0, 0, 0});
    }
    instructions.push_back({Opcode::Collective, 0, false, 0, call, 0, 0});
    if (holds_up) {
      instructions.push_back({Opcode::WaitStream, 0, false, 0, 0, 0, 0});
    }
    shared = std::make_shared<Program>(std::move(program));
  }
}

TEST(FoldedRandomJobs, AreTheSame) {
  std::uint32_t simulated = 0;
  std::uint32_t ranks = 0;
  for (const int nics : {8, 2}) {
    const Fabric fabric = rail_fabric(4, nics);
    const CollectivePlanner planner{fabric};
    for (const auto& [name, options] : bare_options()) {
      holds(name, 60, [&, options = options] {
        const RandomJob random = *random_job();
        Job job = copied(random, fabric, 4, *among(0, 2) == 1);
        if (*among(0, 2) == 1) {
          add_lone_call(job, *among(0, 4) > 0, *among(0, 4) > 0);
        }
        check(job);
        auto input = input_for(job, fabric, [&](const auto& request, auto members) {
          CollectivePlan plan = planner.plan(request, members);
          if (members.size() == job.ranks.size()) {  // else it loads alike links alike
            std::erase_if(plan.loads, [](const LinkLoad& load) { return load.link % 5 > 1; });
          }
          return plan;
        });
        input.gpu_models.front().launch_queue = random.launch_queue;
        input.gpu_models.front().kernel_gap = Seconds{kTick};
        input.gpu_factor.assign(job.ranks.size(), 1.0);
        if (*among(0, 2) == 1) {
          input.gpu_factor[static_cast<std::size_t>(*among(0, 4 * random.ranks))] = 1.25;
        }
        std::string what;
        simulated += fold_and_compare(input, options, what);
        ranks += static_cast<std::uint32_t>(job.ranks.size());
        RC_ASSERT(what == "");
      });
    }
  }
  EXPECT_LT(simulated, ranks / 2) << "most of these jobs should fold";
}

/// Ranks that compute, copy, send to a rank some way on, receive from one as far behind, and all-reduce in
/// their node, over and over.
Job exchanges(const Fabric& fabric, std::uint32_t ranks, int rounds) {
  constexpr std::uint32_t kNode = 8;
  Script script({"compute", "copies", "out", "in"}, {"world", "node"});
  std::vector<std::uint32_t> distances;
  for (int round = 0; round < rounds; ++round) {
    script.launch(0, *among(1, 30), 1).copy(1, Bytes{1e4 * *among(1, 50)}, Memcpy::Path::HostToDevice, 1);
    if (*among(0, 2) == 1) {
      script.copy(1, Bytes{1e4 * *among(1, 50)}, Memcpy::Path::DeviceToHost, 1);
    }
    script.all_reduce(0, 1, Bytes{4e4 * *among(1, 50)}, 1);
    distances.push_back(static_cast<std::uint32_t>(*among(1, static_cast<int>(ranks))));
    script.collective(2, {CollectiveKind::Send, DataType::FP32, 0, Bytes{4e4 * *among(1, 50)}, {}, 0}, 1);
    script.record(2, 0, 1).stream_wait(0, 0, 1);
    script.collective(3, {CollectiveKind::Receive, DataType::FP32, 0, Bytes{0}, {}, 0}, 1);
  }
  Program program = script.program();
  Job job;
  job.steps = 2;
  job.groups.push_back({"world", {}});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    job.groups[0].ranks.push_back(rank);
    if (rank % kNode == 0) {
      job.groups.push_back({"node", {}});
    }
    job.groups.back().ranks.push_back(rank);
    job.ranks.push_back({fabric.gpus()[rank], 0, {0, 1 + rank / kNode}, {}, {}});
  }
  // Sends and receives become slots that each rank fills with its own peers.
  std::uint32_t slot = 0;
  for (Instruction& instruction : program.threads[0].instructions) {
    if (instruction.op != Opcode::Collective || program.collectives[instruction.operand].group == 1) {
      continue;
    }
    const CollectiveKind kind = program.collectives[instruction.operand].kind;
    const std::uint32_t distance = distances[slot / 2];
    Bytes size = program.collectives[instruction.operand].size;
    if (kind == CollectiveKind::Receive) {  // of what is sent this round
      size = program.collectives[job.ranks[0].collective_slots[slot - 1]].size;
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t peer =
          (rank + (kind == CollectiveKind::Send ? distance : ranks - distance)) % ranks;
      job.ranks[rank].collective_slots.push_back(static_cast<std::uint32_t>(program.collectives.size()));
      program.collectives.push_back({kind, DataType::FP32, 0, size, {}, static_cast<int>(peer)});
    }
    instruction.per_rank = true;
    instruction.operand = slot++;
  }
  job.programs.push_back(std::make_shared<Program>(std::move(program)));
  return job;
}

TEST(FoldedExchanges, AreTheSame) {
  std::uint32_t simulated = 0;
  std::uint32_t all = 0;
  for (const int nics : {8, 2}) {
    const Fabric fabric = rail_fabric(4, nics);
    const CollectivePlanner planner{fabric};
    for (const auto& [name, options] : bare_options()) {
      holds(name, 15, [&, options = options] {
        const auto ranks = static_cast<std::uint32_t>(8 * *among(1, 5));
        const Job job = exchanges(fabric, ranks, *among(1, 5));
        check(job);
        auto input = input_for(
            job, fabric, [&](const auto& request, auto members) { return planner.plan(request, members); });
        input.gpu_models.front().host_copy = tick_gpu().host_copy;
        input.gpu_models.front().communication.sm_count = 20;  // else there is no interference
        input.gpu_factor.assign(ranks, 1.0);
        if (*among(0, 3) == 1) {
          input.gpu_factor[static_cast<std::size_t>(*among(0, static_cast<int>(ranks)))] = 1.25;
        }
        std::string what;
        simulated += fold_and_compare(input, options, what);
        all += ranks;
        RC_ASSERT(what == "");
      });
    }
  }
  // A distance that leads out of a node leads to another place for each rank of a node.
  EXPECT_LT(simulated, all - all / 5) << "nodes should fold";
}

}  // namespace
}  // namespace lockstep::testing
