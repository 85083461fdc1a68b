/// @file
/// What scripts that fine-tune Hugging Face's transformers do besides: classes of tokens, masks of padding,
/// micro-batches that are reduced or waited for one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/transformer_job.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kClasses = 9;  // of named entities in CoNLL 2003

TransformerSpec token_classifier(const std::string& name) {
  TransformerSpec spec = shipped(name).transformer.value();
  spec.classes = kClasses;
  spec.classified = Classified::Tokens;
  return spec;
}

std::int64_t parameters_of(const TransformerSpec& spec) {
  const std::vector<std::int64_t> all = spec.parameters();
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

double bytes_of(const Job& job, CollectiveKind kind) {
  double bytes = 0;
  for (const Program::Thread& thread : job.programs[0]->threads) {
    for (const Instruction& i : thread.instructions) {
      if (i.op == Opcode::Collective && job.programs[0]->collectives[i.operand].kind == kind) {
        bytes += job.programs[0]->collectives[i.operand].size / 1_B;
      }
    }
  }
  return bytes;
}

std::int64_t device_waits(const Job& job) {
  return std::ranges::count(job.programs[0]->threads[0].instructions, Opcode::WaitDevice, &Instruction::op);
}

/// Hugging Face's counts with nine labels: GPT2Model, and BertModel without its pooler, with a linear
/// layer.
TEST(FineTuning, TokenClassifiersHaveThePublishedParameters) {
  EXPECT_EQ(parameters_of(token_classifier("gpt2")), 124439808 + kClasses * 769);
  EXPECT_EQ(parameters_of(token_classifier("bert_base")), 108898569);
}

TEST(FineTuning, EveryTokenIsClassifiedAndLearnedFrom) {
  for (const char* name : {"gpt2", "bert_base"}) {
    const TransformerSpec spec = token_classifier(name);
    const Job job = job_of(spec, {.batch = 4, .phases = Phases::Forward});
    const double tokens = 4.0 * static_cast<double>(spec.sequence);
    const double layers = 2 * tokens * 12 * (12 * 768 * 768 + 2 * static_cast<double>(spec.sequence) * 768);
    EXPECT_DOUBLE_EQ(gemm_flops(job), layers + 2 * tokens * kClasses * 768);
    EXPECT_NEAR(gemm_flops(job_of(spec, {.batch = 4})) / gemm_flops(job), 3, 1e-9);
    EXPECT_NO_THROW(check(job_of(spec, {.ranks = 8, .batch = 16, .precision = Precision::BF16})));
  }
}

/// A batch more to copy, three kernels that make a number of it, a sum in every layer's scores.
TEST(FineTuning, GivenMasksAreAddedToScores) {
  TransformerSpec spec = token_classifier("gpt2");
  const Job plain = job_of(spec, {});
  spec.attention_mask = true;
  const Job masked = job_of(spec, {});
  const auto more = [&](const char* name) { return count(masked, name) - count(plain, name); };
  EXPECT_EQ(more("aten::add"), 12);
  EXPECT_EQ(more("aten::rsub"), 1);
  EXPECT_EQ(more("aten::to"), 2);  // to the device, and to FP32
}

TEST(FineTuning, WithoutNoSyncEveryMicroBatchIsReduced) {
  const auto job = [](bool no_sync) {
    return job_of("bert_base", {.ranks = 2, .batch = 20, .micro_batches = 5, .no_sync = no_sync});
  };
  const Job last = job(true), all = job(false);
  EXPECT_EQ(bytes_of(all, CollectiveKind::AllReduce), 5 * bytes_of(last, CollectiveKind::AllReduce));
  EXPECT_EQ(bytes_of(all, CollectiveKind::Broadcast), 5 * bytes_of(last, CollectiveKind::Broadcast));
  EXPECT_EQ(count(all, "aten::addcdiv_"), count(last, "aten::addcdiv_"));
}

TEST(FineTuning, TheLoopMayWaitForEveryMicroBatch) {
  const auto waits = [](bool synchronize) {
    return device_waits(job_of("bert_base", {.batch = 20, .micro_batches = 5, .synchronize = synchronize}));
  };
  EXPECT_EQ(waits(true) - waits(false), 5);
}

}  // namespace
}  // namespace lockstep
