#include <gtest/gtest.h>

#include "tests/support/contended_job.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/rail_fabric.hpp"
#include "tests/support/random_job.hpp"
#include "tests/support/script.hpp"

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

/// Four GPUs of each of two nodes, by turns.
std::vector<VertexId> by_turns(const Fabric& fabric) {
  std::vector<VertexId> gpus;
  for (std::size_t rank = 0; rank < 8; ++rank) {
    gpus.push_back(fabric.gpus()[rank % 2 * 8 + rank / 2]);
  }
  return gpus;
}

SimulationInput disturbed_input(const Job& job, const Fabric& fabric, const CollectivePlanner& planner,
                                int launch_queue) {
  auto input = input_of(job, fabric, planner);
  input.gpu_models.front().launch_queue = launch_queue;
  input.gpu_models.front().kernel_gap = Seconds{kTick};
  input.gpu_models.front().launch_to_start = Seconds{2 * kTick};
  input.gpu_models.front().communication = {20, 0.5};
  return input;
}

SimulationOptions disturbed(EngineMode engine) {
  SimulationOptions options = options_for(engine);
  options.interference = true;
  return options;
}

/// Kernels that follow each other are taken together where nothing comes between them. Whatever slows them
/// down meanwhile, and however soon the launch queue is full, they run as they would one by one.
TEST(Interference, KernelsInARowRunAsOneByOne) {
  const Fabric fabric = rail_fabric(2, 2);
  const CollectivePlanner planner{fabric};
  holds("rows == single kernels", 300, [&] {
    const RandomJob random = with_rows(*random_job());
    const Job job = made(random, by_turns(fabric));
    const Job one_by_one = with_records(job);
    const auto agreement = [&](const Job& simulated) {
      const auto input = disturbed_input(simulated, fabric, planner, 3 * random.launch_queue);
      return agreement_of(simulate(input, disturbed(EngineMode::Bare), nullptr));
    };
    RC_ASSERT(agreement(job) == agreement(one_by_one));
  });
}

/// Who watches a run has its launches and kernels taken one by one. Unwatched rows give the same bits, with a
/// launch queue that fills and with one that never does.
TEST(Interference, UnwatchedRowsRunAsWatchedKernels) {
  const Fabric fabric = rail_fabric(2, 2);
  const CollectivePlanner planner{fabric};
  holds("rows == watched kernels", 300, [&] {
    const RandomJob random = with_rows(*random_job());
    const Job job = made(random, by_turns(fabric));
    for (const int launch_queue : {random.launch_queue, 3 * random.launch_queue, 1'000'000}) {
      auto input = disturbed_input(job, fabric, planner, launch_queue);
      input.variation = jitter(0.1);
      Recording recording;
      const auto options = disturbed(EngineMode::Bare);
      const SimulationResult unwatched = simulate(input, options, nullptr);
      const SimulationResult watched = simulate(input, options, &recording);
      RC_ASSERT(agreement_of(unwatched) == agreement_of(watched));
      for (std::size_t rank = 0; rank < unwatched.ranks.size(); ++rank) {
        RC_ASSERT(unwatched.ranks[rank].host_blocked == watched.ranks[rank].host_blocked);
        RC_ASSERT(unwatched.ranks[rank].end == watched.ranks[rank].end);
      }
      for (std::size_t metered = 0; metered < unwatched.metered.size(); ++metered) {
        RC_ASSERT(unwatched.metered[metered].activity.busy() == watched.metered[metered].activity.busy());
      }
    }
  });
}

/// Kernels that start and end between two dates of SimGrid's clock, and actors that SimGrid resumes at each.
TEST(Interference, IsTheSameInSimGridsClockAndOut) {
  const Fabric fabric = rail_fabric(2, 2);
  const CollectivePlanner planner{fabric};
  holds("run-ahead == s4u == bare", 25, [&] {
    const RandomJob random = with_rows(*random_job());
    const Job job = made(random, by_turns(fabric));
    auto input = disturbed_input(job, fabric, planner, 3 * random.launch_queue);
    input.variation = jitter(0.1);
    const Agreement bare = agreement_of(simulate(input, disturbed(EngineMode::Bare), nullptr));
    RC_ASSERT(simulated_in_child(input, disturbed(EngineMode::RunAhead)) == bare);
    RC_ASSERT(simulated_in_child(input, disturbed(EngineMode::S4u)) == bare);
  });
}

}  // namespace
}  // namespace lockstep::testing
