#include "search/plans/plan_space.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "ops/workload/parallel/framework_rules.hpp"
#include "ops/workload/parallel/parallel_plan.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kLargestMicroBatch = 64;
constexpr int kMostUneven = 4;  // chunks of a stage that need not be of equal depth

/// Divisors of any of the numbers, ascending.
template <class Number>
std::vector<Number> divisors_of(const std::vector<Number>& numbers) {
  std::set<Number> divisors;
  for (const Number number : numbers) {
    for (Number part = 1; part <= number; ++part) {
      if (number % part == 0) {
        divisors.insert(part);
      }
    }
  }
  return {divisors.begin(), divisors.end()};
}

template <class Enum>
std::vector<Enum> all_of() {
  std::vector<Enum> values;
  for (const auto& [value, name] : names_of(Enum{})) {
    values.push_back(value);
  }
  return values;
}

/// A few, and those that divide the layers of a stage.
std::vector<int> usual_chunks(std::int64_t layers, const std::vector<int>& stages) {
  std::set<int> chunks;
  for (int few = 2; few <= kMostUneven; ++few) {
    chunks.insert(few);
  }
  for (const int of : stages) {
    for (std::int64_t many = kMostUneven + 1; of > 1 && layers % of == 0 && many <= layers / of; ++many) {
      if (layers / of % many == 0) {
        chunks.insert(static_cast<int>(many));
      }
    }
  }
  return {chunks.begin(), chunks.end()};
}

}  // namespace

bool PlanSpace::has(StageDepths depths) const {
  return std::ranges::find(stage_layers, depths) != stage_layers.end();
}

TransformerPlanSpec with_own_fsdp(TransformerPlanSpec plan, const TransformerSpec& model) {
  TransformerPlanSpec own = with_zero3_implementation(plan, model);
  return own.is_fsdp() ? own : plan;
}

PlanSpace usual_space(const PlanProblem& problem) {
  PlanSpace space;
  const std::vector<int> degrees = divisors_of(problem.gpus);
  space.tensor = degrees;
  space.pipeline = degrees;
  space.context = problem.model.attention == AttentionKernels::Unfused ? std::vector<int>{1} : degrees;
  space.expert = problem.model.experts ? degrees : std::vector<int>{1};
  space.micro_batch = divisors_of(std::vector<std::int64_t>{problem.global_batch});
  std::erase_if(space.micro_batch, [](std::int64_t size) { return size > kLargestMicroBatch; });
  space.sequence_parallel = {false, true};
  space.schedule = all_of<PipelineSchedule>();
  space.chunks = usual_chunks(problem.model.layers, degrees);
  const bool is_fsdp = problem.base.is_fsdp();
  space.sharding = is_fsdp ? std::vector<Sharding>{Sharding::Zero3} : all_of<Sharding>();
  space.reshard_after_forward =
      is_fsdp ? std::vector<bool>{true, false} : std::vector<bool>{problem.base.reshard_after_forward};
  space.recompute = {Recompute::None, Recompute::Selective, Recompute::Full};
  space.tensor_overlap = {problem.base.tensor_overlap, !problem.base.tensor_overlap};
  space.stage_layers = all_of<StageDepths>();
  if (problem.model.implementation == Implementation::HuggingFaceLlama) {
    space.tensor = space.pipeline = space.context = {1};
  }
  if (problem.model.implementation != Implementation::Megatron) {
    std::erase(space.recompute, Recompute::Selective);
  }
  if (problem.model.implementation == Implementation::TorchTitan) {
    space.recompute.insert(space.recompute.begin() + 1, Recompute::Operators);
  }
  return space;
}

std::string reason_of(Pruned pruned) {
  switch (pruned) {
    case Pruned::Framework:
      return "not run by the implementation or the framework as the scenario has it (below)";
    case Pruned::CannotBe:
      return "cannot be: degrees, batch, heads, layers or experts do not divide";
    case Pruned::ShardGroup:
      return "the scenario's shard_group does not divide the replicas";
    case Pruned::BeyondNode:
      return "tensor parallelism beyond a node (--only tensor=A,B has it looked at)";
    case Pruned::SameAsOther:
      return "the same as another: nothing to schedule, to share or to compute again";
    case Pruned::UnevenChunks:
      return "more than 4 chunks of a stage, of unequal depth (--only chunks=A,B has them looked at)";
    case Pruned::GPipe:
      return "gpipe: the bubble of 1f1b, and more memory";
    case Pruned::Bound:
      return "states and kept activations alone are more than a GPU has";
    case Pruned::Memory:
      return "more memory than a GPU has, as estimated";
    case Pruned::Beaten:
      return "slower than others that need no more memory, whatever sharding and recomputation turn out to "
             "take";
  }
  throw std::logic_error{"reason_of: unknown Pruned"};
}

bool can_be(const PlanCandidate& candidate, const PlanProblem& problem) {
  try {
    candidate.plan.check();
    (void)make_plan(candidate.plan, problem.model, candidate.gpus, problem.global_batch,
                    candidate.micro_batches);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

namespace {

class Enumerator {
 public:
  Enumerator(const PlanProblem& problem, const PlanSpace& space) : problem_{problem}, space_{space} {
    for (const PipelineSchedule schedule : space.schedule) {
      for (const int chunks :
           schedule == PipelineSchedule::Interleaved ? space.chunks : std::vector<int>{1}) {
        schedules_.emplace_back(schedule, chunks);
      }
    }
  }

  PlanEnumeration enumerate() && {
    const std::uint64_t below =
        space_.micro_batch.size() * space_.sequence_parallel.size() * schedules_.size() * variants();
    found_.combinations = problem_.gpus.size() * space_.tensor.size() * space_.pipeline.size() *
                          space_.context.size() * space_.expert.size() * below;
    for (const int gpus : problem_.gpus) {
      for (const int tensor : space_.tensor) {
        for (const int pipeline : space_.pipeline) {
          for (const int context : space_.context) {
            for (const int expert : space_.expert) {
              PlanCandidate candidate{problem_.base, gpus};
              candidate.plan.tensor = tensor;
              candidate.plan.pipeline = pipeline;
              candidate.plan.context = context;
              candidate.plan.expert = expert;
              add_degrees(candidate, below);
            }
          }
        }
      }
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::uint64_t variants() const {
    return space_.sharding.size() * space_.reshard_after_forward.size() * space_.recompute.size();
  }

  void drop(Pruned why, std::uint64_t combinations) { found_.pruned[why] += combinations; }

  /// A node, or as many GPUs as there are for each sample: there are no more replicas than samples, and a
  /// pipeline of few samples is mostly bubble.
  [[nodiscard]] std::int64_t most_tensor(int gpus) const {
    return std::max<std::int64_t>(problem_.gpus_of_node, gpus / problem_.global_batch);
  }

  void add_degrees(PlanCandidate candidate, std::uint64_t below) {
    const TransformerPlanSpec& plan = candidate.plan;
    const std::int64_t of_replica = std::int64_t{plan.tensor} * plan.pipeline * plan.context;
    if (candidate.gpus % of_replica != 0) {
      return drop(Pruned::CannotBe, below);
    }
    if (!space_.tensor_is_given && plan.tensor > most_tensor(candidate.gpus)) {
      return drop(Pruned::BeyondNode, below);
    }
    candidate.data = static_cast<int>(candidate.gpus / of_replica);
    for (const std::int64_t micro_batch : space_.micro_batch) {
      candidate.micro_batch = micro_batch;
      add_micro_batch(candidate, below / space_.micro_batch.size());
    }
  }

  void add_micro_batch(PlanCandidate candidate, std::uint64_t below) {
    const std::int64_t at_once = candidate.micro_batch * candidate.data;
    if (problem_.global_batch % at_once != 0) {
      return drop(Pruned::CannotBe, below);
    }
    candidate.micro_batches = static_cast<int>(problem_.global_batch / at_once);
    for (const bool sequence_parallel : space_.sequence_parallel) {
      if (sequence_parallel && candidate.plan.tensor == 1) {
        drop(Pruned::SameAsOther, below / space_.sequence_parallel.size());
        continue;
      }
      candidate.plan.sequence_parallel = sequence_parallel;
      candidate.plan.tensor_overlap = space_.tensor_overlap.front() && sequence_parallel;
      candidate.plan.tensor_layers = sequence_parallel ? problem_.base.tensor_layers : TensorLayers::Megatron;
      for (const auto& [schedule, chunks] : schedules_) {
        candidate.plan.schedule = schedule;
        candidate.plan.chunks = chunks;
        candidate.plan.stage_layers.clear();  // those said are of the scenario's own plan alone
        add_schedule(candidate);
      }
    }
  }

  [[nodiscard]] bool has_choice(PipelineSchedule schedule) const {
    return std::ranges::find(space_.schedule, schedule) != space_.schedule.end();
  }

  void add_schedule(const PlanCandidate& candidate) {
    const PipelineSchedule schedule = candidate.plan.schedule;
    const bool nothing_to_order = candidate.plan.pipeline == 1 || candidate.micro_batches == 1;
    if (schedule != PipelineSchedule::OneFOneB && nothing_to_order &&
        has_choice(PipelineSchedule::OneFOneB)) {
      return drop(Pruned::SameAsOther, variants());
    }
    if (schedule == PipelineSchedule::GPipe && has_choice(PipelineSchedule::OneFOneB)) {
      return drop(Pruned::GPipe, variants());
    }
    const bool is_even =
        problem_.model.layers % (std::int64_t{candidate.plan.pipeline} * candidate.plan.chunks) == 0;
    if (candidate.plan.chunks > kMostUneven && !is_even && !space_.chunks_are_given) {
      return drop(Pruned::UnevenChunks, variants());
    }
    for (const Sharding sharding : space_.sharding) {
      add_sharding(candidate, sharding);
    }
  }

  /// Gathered parameters are dropped or kept after forward; only zero3 has any.
  void add_sharding(PlanCandidate candidate, Sharding sharding) {
    candidate.plan.sharding = sharding;
    for (const bool reshard : space_.reshard_after_forward) {
      if (sharding != Sharding::Zero3 && reshard != space_.reshard_after_forward.front()) {
        drop(Pruned::SameAsOther, space_.recompute.size());
        continue;
      }
      candidate.plan.reshard_after_forward = reshard || sharding != Sharding::Zero3;
      for (const Recompute recompute : space_.recompute) {
        add(candidate, recompute);
      }
    }
  }

  void add(PlanCandidate candidate, Recompute recompute) {
    TransformerPlanSpec& plan = candidate.plan;
    const Sharding sharding = plan.sharding;
    // Flash attention keeps no scores that could be dropped.
    const bool is_none = recompute == Recompute::Selective &&
                         problem_.model.attention != AttentionKernels::Unfused &&
                         std::ranges::find(space_.recompute, Recompute::None) != space_.recompute.end();
    const bool is_shared = replicas_of(candidate) > 1 || plan.offload != Offload::None;
    if (is_none || (sharding != Sharding::None && !is_shared)) {
      return drop(Pruned::SameAsOther, 1);
    }
    plan.recompute = recompute;
    if (recompute != Recompute::Full) {
      plan.recompute_every = 1;
      plan.recompute_synchronize = plan.partition_activations = false;
    }
    if (sharding == Sharding::None) {
      plan.shard_group.reset();
    }
    if (sharding != Sharding::Zero1 || plan.offload != Offload::None) {
      plan.reduce_scatter = true;
    }
    if (replicas_of(candidate) % plan.shard_group.value_or(1) != 0) {
      return drop(Pruned::ShardGroup, 1);
    }
    if (sharding != Sharding::Zero3) {
      plan.reduce_each_micro_batch = true;
      plan.zero3_implementation.reset();
    }
    plan = with_own_fsdp(std::move(plan), problem_.model);
    if (recompute == Recompute::None || plan.pipeline == 1) {
      plan.recompute_last_stage = true;  // there is nothing that it could except
    }
    try {
      check_implementation(plan, problem_.model);
    } catch (const std::invalid_argument& problem) {
      ++found_.refused[problem.what()];
      return drop(Pruned::Framework, 1);
    }
    if (!can_be(candidate, problem_)) {
      return drop(Pruned::CannotBe, 1);
    }
    try {
      check_framework(plan, problem_.model, problem_.framework, problem_.types);
    } catch (const std::invalid_argument& problem) {
      ++found_.refused[problem.what()];
      return drop(Pruned::Framework, 1);
    }
    found_.candidates.push_back(candidate);
  }

  const PlanProblem& problem_;
  const PlanSpace& space_;
  std::vector<std::pair<PipelineSchedule, int>> schedules_;
  PlanEnumeration found_;
};

}  // namespace

std::optional<PlanCandidate> with_tensor_overlap(PlanCandidate candidate, const PlanProblem& problem,
                                                 const PlanSpace& space) {
  bool& overlap = candidate.plan.tensor_overlap;
  overlap = !overlap;
  const bool is_choice = std::ranges::find(space.tensor_overlap, overlap) != space.tensor_overlap.end();
  if (!is_choice || candidate.plan.tensor > problem.gpus_of_node || !can_be(candidate, problem)) {
    return std::nullopt;
  }
  try {
    check_framework(candidate.plan, problem.model, problem.framework, problem.types);
    return candidate;
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

PlanEnumeration enumerate_plans(const PlanProblem& problem, const PlanSpace& space) {
  return Enumerator{problem, space}.enumerate();
}

}  // namespace lockstep
