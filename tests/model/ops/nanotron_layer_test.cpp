/// @file
/// nanotron's Llama beside Megatron-LM's: the same products, other kernels and collectives between them.

#include <gtest/gtest.h>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

/// Launches of all kernels of the first rank.
std::size_t launches(const Job& job) {
  const Program& program = *job.programs[job.ranks.front().program];
  std::size_t count = 0;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      count += instruction.op == Opcode::Launch ? 1U : 0U;
    }
  }
  return count;
}

/// Forward: a copy, a concatenation and a copy before attention, 6 kernels that count lengths, silu and
/// product for one kernel. Backward: split, unbind, reshape and a copy of the queries' gradient, 4 kernels
/// for one behind the feed-forward product, and the sums of four weights' gradients, which Megatron-LM's
/// products do. One sample needs no reordering.
TEST(Nanotron, HasAKernelForEverything) {
  const Batch run{.ranks = 1};
  const Job megatron = job_of(small_llama(Implementation::Megatron), {}, run);
  const Job nanotron = job_of(small_llama(Implementation::Nanotron), {}, run);
  EXPECT_DOUBLE_EQ(flops(nanotron), flops(megatron));
  EXPECT_EQ(launches(nanotron) - launches(megatron), 4U * (3 + 6 + 1 + 4 + 3 + 4));
}

/// Two samples: the context goes into the order of tokens, and its gradient back.
TEST(Nanotron, ReordersTheContextOfSeveralSamples) {
  const Job one = job_of(small_llama(Implementation::Nanotron), {}, {.ranks = 1});
  const Job two = job_of(small_llama(Implementation::Nanotron), {}, {.ranks = 1, .batch = 2});
  EXPECT_EQ(launches(two) - launches(one), 4U * 2);
}

/// Megatron-LM gathers the operands of its two column-parallel products of a layer again in backward;
/// nanotron has kept them. Both have one such product more in the head.
TEST(Nanotron, KeepsWhatItGathered) {
  const Batch run{.ranks = 2};
  const TransformerPlanSpec plan{.tensor = 2, .sequence_parallel = true};
  const auto gathers = [&](Implementation implementation) {
    return collectives_of(job_of(small_llama(implementation), plan, run), 0, CollectiveKind::AllGather)
        .size();
  };
  EXPECT_EQ(gathers(Implementation::Megatron) - gathers(Implementation::Nanotron), 4U * 2 + 1);
}

/// GPT-2's vocabulary of 50,257 stays as it is on one rank; Megatron-LM pads it to 50,304.
TEST(Nanotron, DoesNotPadTheVocabulary) {
  TransformerSpec spec = small_llama(Implementation::Nanotron),
                  padded = small_llama(Implementation::Megatron);
  spec.vocabulary = padded.vocabulary = 50257;
  const double tokens = 4096, products = 3;
  EXPECT_DOUBLE_EQ(flops(job_of(padded, {}, {.ranks = 1})) - flops(job_of(spec, {}, {.ranks = 1})),
                   2 * products * tokens * 2048 * (50304 - 50257));
}

}  // namespace
}  // namespace lockstep
