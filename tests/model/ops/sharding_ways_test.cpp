/// @file
/// Groups that share what ZeRO shares, gradients that wait for the last micro-batch, and products that are
/// tensor parallel by themselves: what they communicate beside what is usual.

#include <gtest/gtest.h>

#include <numeric>

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
