#include <gtest/gtest.h>

#include "tests/support/engines.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/rail_fabric.hpp"
#include "tests/support/random_job.hpp"

namespace lockstep::testing {
namespace {

/// More launches that follow each other.
RandomJob with_rows(RandomJob job) {
  std::vector<RandomOperation> operations;
  for (const RandomOperation& op : job.operations) {
    const int times = op.kind == RandomOperation::Kind::Launch ? 1 + op.ticks % 5 : 1;
    operations.insert(operations.end(), static_cast<std::size_t>(times), op);
  }
  job.operations = std::move(operations);
  return job;
}

/// The same job with an event recorded behind each launch, which takes no time and nobody waits for.
Job with_records(const Job& job) {
  Job with = job;
  for (auto& program : with.programs) {
    Program changed = *program;
    const std::uint32_t event = changed.events++;
    for (Program::Thread& thread : changed.threads) {
      std::vector<Instruction> instructions;
      for (const Instruction& instruction : thread.instructions) {
        instructions.push_back(instruction);
        if (instruction.op == Opcode::Launch) {
          instructions.push_back({Opcode::RecordEvent, instruction.stream, false, 0, event, 0, 0});
        }
      }
      thread.instructions = std::move(instructions);
    }
    program = std::make_shared<const Program>(std::move(changed));
  }
  return with;
}

/// Kernels that follow each other are taken together where nothing comes between them. Whatever slows them
/// down meanwhile, and however soon the launch queue is full, they run as they would one by one.
TEST(Interference, KernelsInARowRunAsOneByOne) {
  const Fabric fabric = rail_fabric(2, 2);
  const CollectivePlanner planner{fabric};
  holds("rows == single kernels", 300, [&] {
    const RandomJob random = with_rows(*random_job());
    std::vector<VertexId> gpus;
    for (std::size_t rank = 0; rank < 8; ++rank) {
      gpus.push_back(fabric.gpus()[rank % 2 * 8 + rank / 2]);
    }
    const Job job = made(random, gpus);
    const Job one_by_one = with_records(job);
    const auto agreement = [&](const Job& simulated) {
      auto input = input_of(simulated, fabric, planner);
      input.gpu_models.front().launch_queue = 3 * random.launch_queue;
      input.gpu_models.front().kernel_gap = Seconds{kTick};
      input.gpu_models.front().launch_to_start = Seconds{2 * kTick};
      input.gpu_models.front().communication = {20, 0.5};
      SimulationOptions options = options_for(EngineMode::Bare);
      options.interference = true;
      return agreement_of(simulate(input, options, nullptr));
    };
    RC_ASSERT(agreement(job) == agreement(one_by_one));
  });
}

}  // namespace
}  // namespace lockstep::testing
