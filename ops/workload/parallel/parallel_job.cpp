#include "ops/workload/parallel/parallel_job.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "ops/workload/compiled/compiled_graph.hpp"
#include "ops/workload/parallel/compiled_llama.hpp"
#include "ops/workload/parallel/framework_rules.hpp"
#include "ops/workload/parallel/process_groups.hpp"
#include "ops/workload/parallel/stage_writer.hpp"

namespace lockstep {
namespace {

/// The kind of a group that StageWriter names; gradients between stages have communicators of their own.
std::string kind_of(const std::string& group) {
  return group == "pp gradients" ? "pp" : group;
}

/// Differences between the ranks of a stage: by slot and variant, indices into the Program's tables.
struct StageSlots {
  std::vector<std::vector<std::uint32_t>> kernels, collectives;
};

/// Host memory bandwidth for @p rank. @throws std::invalid_argument when the plan needs it and the machine
/// does not say it
BytesPerSecond host_bandwidth(const ParallelPlan& plan, const TrainingSetup& setup, std::uint32_t rank) {
  if (plan.spec.offload == Offload::None) {
    return BytesPerSecond{0};
  }
  const BytesPerSecond of_rank =
      setup.host_bandwidth.empty() ? BytesPerSecond{0} : setup.host_bandwidth[rank];
  if (!(of_rank > BytesPerSecond{0})) {
    throw std::invalid_argument{fmt::format(
        "'offload' runs the optimizer of rank {} on its host, whose memory bandwidth is not known: give the "
        "'kind: cpu' vertices of its node a 'memory_bandwidth', e.g. 204.8 GB/s",
        rank)};
  }
  return of_rank;
}

/// The Job's groups, each made when the first rank asks for it.
class Groups {
 public:
  Groups(const PlanGroups& plan, Job& job) : plan_{plan}, job_{job} {}

  std::uint32_t of(const std::string& name, std::uint32_t rank) {
    const std::vector<std::uint32_t>& members = plan_.members(kind_of(name), rank);
    const auto [entry, fresh] =
        known_.try_emplace({name, members.front()}, static_cast<std::uint32_t>(job_.groups.size()));
    if (fresh) {
      job_.groups.push_back({fmt::format("{} of rank {}", name, members.front()), members});
    }
    return entry->second;
  }

 private:
  const PlanGroups& plan_;
  Job& job_;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> known_;  // by name and first member
};

/// @throws std::invalid_argument for attention without a kernel of the type, and parts of a step that exclude
/// each other
void check_setup(const TransformerSpec& model, const TrainingSetup& setup) {
  const bool any_type =
      model.attention == AttentionKernels::Unfused || model.attention == AttentionKernels::Efficient;
  if (!any_type && !is_mixed(setup.precision)) {
    throw std::invalid_argument{fmt::format(
        "flash attention computes in fp16 or bf16 only; use 'precision: bf16' or 'attention: {}unfused'",
        model.implementation == Implementation::HuggingFaceLlama ? "efficient' or '" : "")};
  }
  if (!setup.frozen.empty() && setup.parallelism.transformer.pipeline > 1) {
    throw std::invalid_argument{
        "frozen parts are written without a pipeline, whose first stages would have no backward: leave "
        "'freeze' or 'pipeline' out"};
  }
  if (setup.phases != Phases::Step && setup.parallelism.transformer.offload != Offload::None) {
    throw std::invalid_argument{
        "'offload' moves the optimizer to the host, and 'phases' leaves the optimizer out: leave one of them "
        "out"};
  }
}

}  // namespace

Job parallel_transformer_job(const TransformerSpec& model, const TrainingSetup& setup) {
  check_setup(model, setup);
  const TensorTypes types{setup.precision, setup.mixed_precision};
  check_framework(setup.parallelism.transformer, model, setup.framework, types);
  const bool is_compiled = setup.framework.compile != Compile::None;
  const HostOverheads host =
      is_compiled ? with_compiled_graphs(setup.host, kParametersOfLlamaBlock) : setup.host;
  const auto ranks = static_cast<int>(setup.gpus.size());
  ParallelPlan plan =
      make_plan(setup.parallelism.transformer, model, ranks, setup.global_batch, setup.gradient_accumulation);
  plan.pure = types.is_pure();
  Job job;
  std::vector<StageSlots> slots;                                    // by program
  std::map<std::pair<int, BytesPerSecond>, std::uint32_t> written;  // by stage and host
  const auto program_of = [&](const StageRanks& of) {
    const auto [entry, fresh] =
        written.try_emplace({of.stage, of.host_bandwidth}, static_cast<std::uint32_t>(slots.size()));
    if (fresh) {
      StepWriter step{host, static_cast<std::size_t>(plan.variants()), setup.framework, types};
      StageWriter writer{step, model, plan, setup, of};
      writer.write();
      job.memory.push_back(writer.memory().peak());
      job.memory_changes.push_back(writer.memory().changes());
      job.pass_memory.push_back(writer.memory().peak_of_passes());
      job.update_memory.push_back(writer.memory().peak_of_update());
      job.host_memory.push_back(writer.host_memory().peak());
      slots.push_back({step.kernel_slots(), step.collective_slots()});
      job.programs.push_back(std::make_shared<const Program>(step.take_program()));
    }
    return entry->second;
  };
  const PlanGroups places{plan};
  Groups groups{places, job};
  for (std::uint32_t rank = 0; rank < setup.gpus.size(); ++rank) {
    const RankPlace& place = places.place(rank);
    RankAssignment& assignment = job.ranks.emplace_back();
    assignment.gpu = setup.gpus[rank];
    assignment.program = program_of({place.stage, host_bandwidth(plan, setup, rank)});
    assignment.memory = assignment.program;
    for (const std::string& name : job.programs[assignment.program]->groups) {
      assignment.groups.push_back(groups.of(name, rank));
    }
    const auto variant = static_cast<std::size_t>(plan.variant(place.context, place.expert));
    for (const auto& slot : slots[assignment.program].kernels) {
      assignment.kernel_slots.push_back(slot[variant]);
    }
    for (const auto& slot : slots[assignment.program].collectives) {
      assignment.collective_slots.push_back(slot[variant]);
    }
  }
  return job;
}

}  // namespace lockstep
