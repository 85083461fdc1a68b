#include "ops/workload/dlrm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/yaml_reader.hpp"
#include "ops/workload/model_spec.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::HasSubstr;

ModelSpec shipped(const std::string& name) {
  return read_file<ModelSpec>(LOCKSTEP_SOURCE_DIR "/configs/models/" + name + ".yaml");
}

struct Cluster {
  explicit Cluster(std::size_t ranks, Bytes memory = 80_GB) : gpus(ranks), memory_of_each(ranks, memory) {
    std::iota(gpus.begin(), gpus.end(), 0U);
  }
  std::vector<VertexId> gpus;
  std::vector<Bytes> memory_of_each;
};

TrainingSetup setup_of(const ModelSpec& model, const Cluster& cluster, std::int64_t batch) {
  return {.global_batch = batch,
          .precision = Precision::FP32,
          .framework = model.framework,
          .parallelism = {},
          .host = plain_host(),
          .gradient_accumulation = 1,
          .clip_gradients = false,
          .gpus = cluster.gpus,
          .gpu_memory = cluster.memory_of_each};
}

Job job_of(const std::string& name, std::size_t ranks, std::int64_t batch) {
  const ModelSpec model = shipped(name);
  const Cluster cluster{ranks};
  return dlrm_job(model.dlrm.value(), setup_of(model, cluster, batch));
}

TEST(Dlrm, ShippedModelsAreThoseOfTheirSources) {
  const DlrmSpec mlperf = shipped("dlrm_mlperf").dlrm.value();
  EXPECT_EQ(mlperf.all_tables().size(), 26U);
  EXPECT_EQ(mlperf.interaction_width(),
            479);  // 128 + 27 * 26 / 2, the 479 of MLPerf's "479-1024-1024-512-256-1"
  EXPECT_EQ(shipped("dlrm_default").dlrm->interaction_width(), 64 + 9 * 8 / 2);
  EXPECT_EQ(shipped("dlrm_ddp").dlrm->all_tables().size(), 8U);
  EXPECT_EQ(shipped("dlrm_random").dlrm->all_tables().size(), 26U);
}

/// Pooled rows in FP32 are encoded; HugeCTR's are in 16 bits already.
TEST(Dlrm, RowsTravelInTheirType) {
  const DlrmSpec own = *shipped("dlrm_default").dlrm, hugectr = *shipped("dlrm_dcnv2_mlperf").dlrm;
  EXPECT_EQ(travelling_element(own, Precision::FP16, CommunicationType::FP32), 4_B);
  EXPECT_EQ(travelling_element(own, Precision::FP16, CommunicationType::INT8), 1.25 * 1_B);
  EXPECT_EQ(travelling_element(hugectr, Precision::FP16, CommunicationType::FP8), 2_B);
  EXPECT_EQ(travelling_element(hugectr, Precision::FP32, CommunicationType::FP8), 1_B);
}

TEST(Dlrm, JobsOfAllSizesAreValid) {
  for (const char* name : {"dlrm_default", "dlrm_ddp", "dlrm_mlperf", "dlrm_random"}) {
    for (const std::size_t ranks : {2U, 4U, 8U}) {
      EXPECT_NO_THROW(check(job_of(name, ranks, 2048))) << name << " on " << ranks;
    }
  }
  EXPECT_NO_THROW(check(job_of("dlrm_default", 1, 2048)));
}

TEST(Dlrm, RanksShareOneProgram) {
  const Job job = job_of("dlrm_mlperf", 8, 65536);
  EXPECT_EQ(job.programs.size(), 1U);
  EXPECT_EQ(job.ranks.size(), 8U);
  // Indices, offsets, lookups and copies differ, as far as table counts and widths do. So does what a rank
  // sends forward; backward all ranks send the same, each peer the gradients of its tables.
  EXPECT_GE(job.ranks[0].kernel_slots.size(), 4U);
  EXPECT_EQ(job.ranks[0].collective_slots.size(), 1U);
}

/// Bytes that a rank sends to each other in its all-to-alls, in the order of the program.
std::vector<std::vector<double>> exchanges_of(const Job& job, std::size_t rank) {
  std::vector<std::vector<double>> exchanges;
  const Program& program = *job.programs[0];
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& i : thread.instructions) {
      if (i.op == Opcode::Collective) {
        const CollectiveCall& call =
            program.collectives[i.per_rank ? job.ranks[rank].collective_slots[i.operand] : i.operand];
        if (call.kind == CollectiveKind::AllToAll) {
          exchanges.push_back(call.send_bytes);
        }
      }
    }
  }
  return exchanges;
}

TEST(Dlrm, GradientsTravelBackWhereRowsCameFrom) {
  const Job job = job_of("dlrm_mlperf", 8, 65536);
  double forward = 0;
  for (std::size_t rank = 0; rank < 8; ++rank) {
    for (std::size_t peer = 0; peer < 8; ++peer) {
      EXPECT_EQ(exchanges_of(job, rank).at(0).at(peer), exchanges_of(job, peer).at(1).at(rank));
      forward += exchanges_of(job, rank).at(0).at(peer);
    }
  }
  EXPECT_EQ(forward, 65536.0 * 26 * 128 * 4);  // every pooled row travels once
}

TEST(Dlrm, EvenTablesGiveAnEvenExchange) {
  const Job job = job_of("dlrm_default", 8, 2048);
  EXPECT_TRUE(job.ranks[0].collective_slots.empty());
  // 2048 samples x 64 elements x 4 B of the one table of each rank.
  EXPECT_EQ(job.programs[0]->collectives[0].kind, CollectiveKind::AllToAll);
  EXPECT_EQ(job.programs[0]->collectives[0].size, 2048.0 * 64 * 4 * 1_B);
}

TEST(Dlrm, WhatDoesNotFitIsRefused) {
  const ModelSpec mlperf = shipped("dlrm_mlperf");
  const auto refusal = [&](std::size_t ranks, std::int64_t batch, Bytes memory, Precision precision) {
    const Cluster cluster{ranks, memory};
    TrainingSetup setup = setup_of(mlperf, cluster, batch);
    setup.precision = precision;
    try {
      (void)dlrm_job(*mlperf.dlrm, setup);
    } catch (const std::invalid_argument& error) {
      return std::string{error.what()};
    }
    return std::string{"accepted"};
  };
  EXPECT_THAT(refusal(8, 1001, 80_GB, Precision::FP32),
              HasSubstr("1001 cannot be divided evenly among 8 GPUs"));
  EXPECT_EQ(refusal(32, 2048, 80_GB, Precision::FP32), "accepted");  // six ranks without a table
  EXPECT_THAT(refusal(1, 2048, 16_GB, Precision::FP32), HasSubstr("fits on no GPU"));
  EXPECT_THAT(refusal(2, 2048, 80_GB, Precision::FP8), HasSubstr("fp32, tf32, fp16 or bf16"));
}

TEST(Dlrm, BackwardRunsOnTheAutogradThread) {
  const Job job = job_of("dlrm_default", 1, 512);
  ASSERT_EQ(job.programs[0]->threads.size(), 2U);
  EXPECT_EQ(job.programs[0]->threads[1].name, "autograd");
  for (const Instruction& instruction : job.programs[0]->threads[0].instructions) {
    if (instruction.op == Opcode::RangeBegin) {
      EXPECT_THAT(job.programs[0]->names[instruction.operand], ::testing::Not(HasSubstr("Backward0")));
    }
  }
}

}  // namespace
}  // namespace lockstep
