/// @file
/// Messages between nanotron's pipeline stages: each tensor by itself, behind two that tell its form
/// (nanotron, parallel/pipeline_parallel/{p2p,state}.py).

#include <gtest/gtest.h>

#include <string>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

/// Two layers, two layers, and a stage that has the head alone.
Job three_stages(Implementation implementation) {
  const TransformerPlanSpec plan{.pipeline = 3, .stage_layers = {2, 2, 0}};
  return job_of(small_llama(implementation), plan, {.ranks = 3, .batch = 4, .micro_batches = 4});
}

constexpr std::size_t kMiddle = 1;
constexpr double kHidden = 4096.0 * 2048 * 2;  // a sample's activations in BF16

std::size_t host_waits(const Job& job, std::size_t rank) {
  std::size_t count = 0;
  for (const Program::Thread& thread : job.programs[job.ranks[rank].program]->threads) {
    for (const Instruction& instruction : thread.instructions) {
      count += instruction.op == Opcode::WaitStream ? 1U : 0U;
    }
  }
  return count;
}

/// Seven numbers, shape and strides of three dimensions, the tensor: hidden states, then the mask, a byte a
/// token; the stage without layers wants no mask.
TEST(NanotronMessages, TellTheFormOfEachTensor) {
  const Job job = three_stages(Implementation::Nanotron);
  const auto sizes = [&](std::size_t rank, CollectiveKind kind, int peer) {
    std::vector<double> bytes;
    for (const CollectiveCall& call : collectives_of(job, rank, kind)) {
      if (call.peer == peer) {
        bytes.push_back(call.size.in_base_units());
      }
    }
    bytes.resize(bytes.size() / 4);  // of the first of four micro-batches
    return bytes;
  };
  const std::vector<double> both{56, 48, kHidden, 56, 48, 4096};
  const std::vector<double> hidden{56, 48, kHidden};
  EXPECT_EQ(sizes(0, CollectiveKind::Send, 1), both);
  EXPECT_EQ(sizes(kMiddle, CollectiveKind::Receive, 0), both);
  EXPECT_EQ(sizes(kMiddle, CollectiveKind::Send, 2), hidden);
  EXPECT_EQ(sizes(kMiddle, CollectiveKind::Receive, 2), hidden);
  EXPECT_EQ(sizes(kMiddle, CollectiveKind::Send, 0), hidden);
}

/// Whole tensors of the middle stage: a, A activations received, sent; g, G gradients. One warm-up pass,
/// then a gradient goes behind the next activations that come, and at once when none follow.
TEST(NanotronMessages, SendAGradientBehindTheNextActivations) {
  const Job job = three_stages(Implementation::Nanotron);
  const RankAssignment& rank = job.ranks[kMiddle];
  std::string order;
  for (const Instruction& instruction : job.programs[rank.program]->threads.front().instructions) {
    if (instruction.op != Opcode::Collective) {
      continue;
    }
    const CollectiveCall& call =
        job.programs[rank.program]
            ->collectives[instruction.per_rank ? rank.collective_slots[instruction.operand]
                                               : instruction.operand];
    if (call.size.in_base_units() == kHidden) {
      const bool receives = call.kind == CollectiveKind::Receive;
      order += call.peer == 0 ? (receives ? 'a' : 'G') : (receives ? 'g' : 'A');
    }
  }
  EXPECT_EQ(order, "aAaAgaGAgaGAgGgG");
}

/// A sender's host waits for two copies to the GPU and two comparisons, a receiver's reads 16 numbers.
TEST(NanotronMessages, LetTheHostWait) {
  const std::size_t a_micro_batch = 2 * 16 + 4  // activations: two tensors come, one goes
                                    + 16 + 4;   // gradients
  EXPECT_EQ(host_waits(three_stages(Implementation::Nanotron), kMiddle) -
                host_waits(three_stages(Implementation::Megatron), kMiddle),
            4 * a_micro_batch);
}

}  // namespace
}  // namespace lockstep
