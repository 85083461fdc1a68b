/// @file
/// Groups that share what ZeRO shares, gradients that wait for the last micro-batch, and products that are
/// tensor parallel by themselves: what they communicate beside what is usual.

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

TransformerSpec llama() {
  return small_llama(Implementation::Megatron);
}

double bytes_of(const std::vector<CollectiveCall>& calls) {
  return std::accumulate(calls.begin(), calls.end(), 0.0, [](double sum, const CollectiveCall& call) {
    return sum + call.size.in_base_units();
  });
}

/// Elements that the first rank's optimizer updates.
double updated(const Job& job) {
  double elements = 0;
  const Program& program = *job.programs.front();
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op != Opcode::Launch || instruction.per_rank) continue;
      const KernelCall& call = program.kernels[instruction.operand];
      if (const auto* update = std::get_if<OptimizerUpdate>(&call.work)) {
        elements += static_cast<double>(update->parameters);
      }
    }
  }
  return elements;
}

/// Pairs share the optimizer's states: gradients are scattered in a pair (counted whole), a half is summed
/// over the four pairs, each rank updates a half and gathers the other from its neighbour.
TEST(ShardGroup, OfZero1KeepsParametersInTheGroup) {
  const Batch run{.ranks = 8, .batch = 8};
  const Job all = job_of(llama(), {.sharding = Sharding::Zero1}, run);
  const Job pairs = job_of(llama(), {.sharding = Sharding::Zero1, .shard_group = 2}, run);
  const auto bytes = [](const Job& job, CollectiveKind kind) {
    return bytes_of(collectives_of(job, 0, kind));
  };
  const double gradients = bytes(all, CollectiveKind::ReduceScatter);
  EXPECT_DOUBLE_EQ(bytes(pairs, CollectiveKind::ReduceScatter), gradients);
  EXPECT_NEAR(bytes(pairs, CollectiveKind::AllReduce) - bytes(all, CollectiveKind::AllReduce), gradients / 2,
              1e-9 * gradients);
  EXPECT_DOUBLE_EQ(bytes(pairs, CollectiveKind::AllGather), bytes(all, CollectiveKind::AllGather));
  EXPECT_NEAR(updated(pairs) / updated(all), 4, 1e-6);
}

TransformerSpec mixture() {
  TransformerSpec spec = llama();
  spec.experts = ExpertsSpec{.count = 8, .per_token = 2, .feed_forward = 4096};
  return spec;
}

/// Parameters of four layers, a tied table and a norm, and of the experts among them.
constexpr double kHidden = 2048, kExperts = 4 * 8 * 3 * kHidden * 4096;
constexpr double kOthers =
    4 * (4 * kHidden * kHidden + 8 * kHidden + 2 * kHidden) + 50304 * kHidden + kHidden;

/// Forward and backward gather all but the table and the last norm's few, experts from their replicas.
TEST(Zero3, GathersExpertsFromTheRanksThatHoldThem) {
  const Batch run{.ranks = 8, .batch = 8};
  const auto gathered = [&](int expert) {
    const Job job = job_of(mixture(), {.expert = expert, .sharding = Sharding::Zero3}, run);
    return bytes_of(collectives_of(job, 0, CollectiveKind::AllGather)) / 2;  // bytes of BF16
  };
  const double twice = 2 * kOthers - 50304 * kHidden;  // the table once
  EXPECT_NEAR(gathered(1), twice + 2 * kExperts, 1e-4 * kExperts);
  EXPECT_NEAR(gathered(4), twice + 2 * kExperts / 4, 1e-4 * kExperts);
  EXPECT_NEAR(gathered(8), twice, 1e-4 * kExperts);  // every rank holds its expert whole
}

/// 12 bytes of each parameter of a share.
TEST(Zero3, KeepsSharesOfExperts) {
  const Batch run{.ranks = 8, .batch = 8};
  for (const auto& [expert, ranks] : {std::pair{1, 8}, {4, 2}, {8, 1}}) {
    const Job job = job_of(mixture(), {.expert = expert, .sharding = Sharding::Zero3}, run);
    const double of_experts = kExperts / expert / ranks;
    EXPECT_NEAR(job.memory.front()[MemoryUse::Optimizer], 12 * (kOthers / 8 + of_experts), 1e-3 * kExperts);
  }
}

/// Pairs of the experts' 4 copies share the states; each copy is on 2 ranks.
TEST(ShardGroup, OfExpertsIsWithinTheirReplicas) {
  const Batch run{.ranks = 8, .batch = 8};
  TransformerPlanSpec plan{.expert = 2, .sharding = Sharding::Zero1};
  const Job all = job_of(mixture(), plan, run);
  plan.shard_group = 4;
  const Job halves = job_of(mixture(), plan, run);
  EXPECT_NEAR(updated(halves) / updated(all), 2, 1e-6);
  EXPECT_NEAR(halves.memory.front()[MemoryUse::Optimizer] / all.memory.front()[MemoryUse::Optimizer], 2,
              1e-6);
  const auto scattered = [](const Job& job) {
    return bytes_of(collectives_of(job, 0, CollectiveKind::ReduceScatter));
  };
  EXPECT_DOUBLE_EQ(scattered(halves), scattered(all));
  EXPECT_NEAR(bytes_of(collectives_of(halves, 0, CollectiveKind::AllReduce)) -
                  bytes_of(collectives_of(all, 0, CollectiveKind::AllReduce)),
              4 * (kOthers / 4 + kExperts / 2 / 2), 1e-3 * kExperts);
}

/// Three micro-batches: a third of the reductions, parameters gathered as often.
TEST(ReduceEachMicroBatch, ElseTheLastOneReduces) {
  const Batch run{.ranks = 2, .batch = 6, .micro_batches = 3};
  TransformerPlanSpec plan{.sharding = Sharding::Zero3};
  const Job each = job_of(llama(), plan, run);
  plan.reduce_each_micro_batch = false;
  const Job last = job_of(llama(), plan, run);
  const auto calls = [](const Job& job, CollectiveKind kind) { return collectives_of(job, 0, kind).size(); };
  EXPECT_EQ(calls(each, CollectiveKind::ReduceScatter), 3 * calls(last, CollectiveKind::ReduceScatter));
  EXPECT_EQ(calls(each, CollectiveKind::AllGather), calls(last, CollectiveKind::AllGather));
  EXPECT_DOUBLE_EQ(flops(last), flops(each));
}

/// A layer gathers for q, k, v, gate and up, and in backward the gradients of two outputs; it scatters two
/// outputs and five gradients of inputs. Full recomputation gathers five more and, stopping early, scatters
/// one more: 12 and 8, as a profile of KempnerForge has them (benchmarks/profiling/13b_24gpu_profiling.md:
/// 9,679 gathers and 6,420 scatters for 800 backward passes of a layer). Embedding and head have one of each
/// besides; no layer's recomputation is behind the head.
TEST(TensorLayers, OfDTensorGatherForEveryProduct) {
  const Batch run{.ranks = 4, .batch = 2};
  TransformerPlanSpec plan{.tensor = 4, .sequence_parallel = true};
  const Job megatron = job_of(llama(), plan, run);
  plan.tensor_layers = TensorLayers::DTensor;
  const Job kept = job_of(llama(), plan, run);
  plan.recompute = Recompute::Full;
  plan.recompute_early_stop = true;
  const Job again = job_of(llama(), plan, run);
  const auto calls = [](const Job& job, CollectiveKind kind) { return collectives_of(job, 0, kind).size(); };
  EXPECT_EQ(calls(kept, CollectiveKind::AllGather), 4U * 7 + 2);
  EXPECT_EQ(calls(kept, CollectiveKind::ReduceScatter), 4U * 7 + 2);
  EXPECT_EQ(calls(again, CollectiveKind::AllGather), 4U * 12 + 2);
  EXPECT_EQ(calls(again, CollectiveKind::ReduceScatter), 4U * 8 + 2);
  EXPECT_DOUBLE_EQ(flops(kept), flops(megatron));
}

}  // namespace
}  // namespace lockstep
