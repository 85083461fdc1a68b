#pragma once

#include <memory>

#include "ops/job.hpp"
#include "sim/simulation.hpp"
#include "topology/fabric.hpp"

namespace lockstep::testing {

/// The workload of the design's engine measurements: one thread and two streams per rank, 1000 instructions a
/// step (launches of 10 us and 4 us kernels, events between the streams, and every 50 instructions a
/// collective that alternates between the node's 8 ranks and the rail's n/8).
/// @param ranks a multiple of 8
inline Job contended_job(const Fabric& fabric, std::uint32_t ranks, int steps) {
  constexpr std::uint32_t kBlock = 50;
  constexpr std::uint32_t kBlocks = 20;
  auto program = std::make_shared<Program>();
  program->streams = {"compute", "communication"};
  program->groups = {"node", "rail"};
  program->names = {"step"};
  program->kernels = {{"long_kernel", DataType::FP32, Timed{Seconds{10e-6}}},
                      {"short_kernel", DataType::FP32, Timed{Seconds{4e-6}}}};
  program->collectives = {{CollectiveKind::AllReduce, DataType::FP32, 0, Bytes{32e6}, {}, 0},
                          {CollectiveKind::AllReduce, DataType::FP32, 1, Bytes{2e6}, {}, 0}};
  program->events = 2 * kBlocks;
  auto& code = program->threads.emplace_back(Program::Thread{"main", {}}).instructions;
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    for (std::uint32_t j = 0; j < kBlock; ++j) {
      Instruction next{Opcode::Launch, 0, false, 0, 0, 0, 5e-6F};
      if (j == 20 && block > 0) {  // compute waits for the previous collective
        next = {Opcode::StreamWait, 0, false, 0, 2 * (block - 1) + 1, 0, 1e-6F};
      } else if (j == 46) {
        next = {Opcode::RecordEvent, 0, false, 0, 2 * block, 0, 1e-6F};
      } else if (j == 47) {
        next = {Opcode::StreamWait, 1, false, 0, 2 * block, 0, 1e-6F};
      } else if (j == 48) {
        next = {Opcode::Collective, 1, false, 0, block % 2, 0, 8e-6F};
      } else if (j == 49) {
        next = {Opcode::RecordEvent, 1, false, 0, 2 * block + 1, 0, 1e-6F};
      } else if (j % 10 == 7) {
        next = {Opcode::Launch, 1, false, 0, 1, 0, 5e-6F};
      }
      code.push_back(next);
    }
  }
  code.back() = {Opcode::WaitDevice, 0, false, 0, 0, 0, 1e-6F};
  Job job;
  job.programs.push_back(std::move(program));
  job.steps = steps;
  const std::uint32_t nodes = ranks / 8;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    job.groups.push_back({"node" + std::to_string(node), {}});
  }
  for (std::uint32_t rail = 0; rail < 8; ++rail) {
    job.groups.push_back({"rail" + std::to_string(rail), {}});
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t node = rank / 8;
    const std::uint32_t rail = nodes + rank % 8;
    job.groups[node].ranks.push_back(rank);
    job.groups[rail].ranks.push_back(rank);
    job.ranks.push_back({fabric.gpus()[rank], 0, {node, rail}, {}, {}});
  }
  return job;
}

/// A GPU without latencies of its own, so that dates follow from the job alone.
inline GpuSpec test_gpu() {
  GpuSpec gpu;
  gpu.name = "test_gpu";
  gpu.sm_count = 100;
  gpu.launch_to_start = gpu.kernel_gap = Seconds{0};
  return gpu;
}

inline SimulationInput input_for(const Job& job, const Fabric& fabric, PlanCollective plan_collective) {
  SimulationInput input;
  input.job = &job;
  input.fabric = &fabric;
  input.gpu_models = {test_gpu()};
  input.gpu_model_of_rank.assign(job.ranks.size(), 0);
  input.plan_collective = std::move(plan_collective);
  return input;
}

/// Lognormal jitter of the given coefficient of variation on kernels and host work.
inline Variation jitter(double variation) {
  const JitterSpec spec{Distribution::Lognormal, variation};
  return {Jitter{spec}, Jitter{spec}, Random{1, "variation"}};
}

}  // namespace lockstep::testing
