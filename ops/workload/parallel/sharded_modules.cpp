#include "ops/workload/parallel/sharded_modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>

#include "ops/workload/element_count.hpp"
#include "ops/workload/layers/transformer_block.hpp"
#include "ops/workload/parallel/parameter_update.hpp"
#include "ops/workload/parallel/process_groups.hpp"
#include "ops/workload/parallel/trained_states.hpp"

namespace lockstep {
namespace {

ParallelPlan plan_of(const TransformerSpec& model, const TrainingSetup& setup, TensorTypes types) {
  ParallelPlan plan = make_plan(setup.parallelism.transformer, model, static_cast<int>(setup.gpus.size()),
                                setup.global_batch, setup.gradient_accumulation);
  plan.pure = types.is_pure();
  return plan;
}

/// All replicas; with a shard_group ranks that share, and their counterparts.
void make_groups(StepWriter& step, const ParallelPlan& plan) {
  const PlanGroups groups{plan};
  for (const char* const kind : {"dp", "shard", "replica"}) {
    std::vector<std::vector<std::uint32_t>> parts;
    for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(plan.ranks); ++rank) {
      const std::vector<std::uint32_t>& members = groups.members(kind, rank);
      if (members.front() == rank) {
        parts.push_back(members);
      }
    }
    step.partition(kind, std::move(parts));
  }
}

std::size_t unit_of(std::int64_t layer) {
  return static_cast<std::size_t>(layer) + 1;
}

}  // namespace

ShardedModules::ShardedModules(StepWriter& step, const TransformerSpec& model, const TrainingSetup& setup,
                               MemoryLedger& memory)
    : model_{model},
      setup_{setup},
      parameters_{model.parameters()},
      all_{elements_of(parameters_)},
      of_layer_{elements_of(parameters_of(model.block(1)))},
      plan_{plan_of(model, setup, step.types())},
      host_{step, plan_, memory, {}},
      gradients_{step, plan_, setup.parallelism.bucket, {}, host_},
      scope_{step, model, plan_, gradients_, memory, layer_sizes(model, plan_)},
      gather_{scope_, units()} {
  make_groups(step, plan_);
}

std::vector<GatherUnit> ShardedModules::units() const {
  const auto unit = [&](std::int64_t elements) {
    return GatherUnit{.dense = {.elements = elements, .size = scope_.bytes(elements)}, .expert = {}};
  };
  std::vector<GatherUnit> units{unit(all_ - model_.layers * of_layer_)};
  units.insert(units.end(), static_cast<std::size_t>(model_.layers), unit(of_layer_));
  return units;
}

void ShardedModules::allocate_states() {
  allocate_trained(scope_, host_memory_, {.elements = static_cast<double>(all_), .type = scope_.storage()});
}

void ShardedModules::plan(Direction direction) {
  std::vector<std::size_t> order(static_cast<std::size_t>(model_.layers));
  std::iota(order.begin(), order.end(), std::size_t{1});
  if (direction == Direction::Forward) {
    order.insert(order.begin(), 0);
  } else {
    std::reverse(order.begin(), order.end());
  }
  gather_.plan(std::move(order));
}

bool ShardedModules::drops(int micro_batch) const {
  return !plan_.spec.keeps_gathered_parameters() || micro_batch + 1 == plan_.micro_batches;
}

void ShardedModules::begin_forward() {
  plan(Direction::Forward);
  gather_.use(0);
}

void ShardedModules::begin_backward(int micro_batch) {
  gradients_.begin(micro_batch == 0, micro_batch + 1 == plan_.micro_batches);
  plan(Direction::Backward);
  keeps_ = !drops(micro_batch);
}

void ShardedModules::end_backward(int micro_batch) {
  gradients_.pass_done();
  gather_.done(0, drops(micro_batch));
}

void ShardedModules::begin_layer(std::int64_t layer, Direction direction) {
  gather_.use(unit_of(layer));
  if (direction == Direction::Backward) {
    scope_.memory.allocate(MemoryUse::Gradients, passing_gradients(scope_, of_layer_));
  }
}

void ShardedModules::end_layer(std::int64_t layer, Direction direction) {
  if (direction == Direction::Forward) {
    gather_.done(unit_of(layer), plan_.spec.reshard_after_forward);
    return;
  }
  gradients_.layer_done();
  scope_.memory.release(MemoryUse::Gradients, passing_gradients(scope_, of_layer_));
  gather_.done(unit_of(layer), !keeps_);
}

void ShardedModules::update() {
  gradients_.finish();
  const int ranks = plan_.replication(false).shard;
  const std::int64_t elements = (all_ + ranks - 1) / ranks;
  const std::int64_t narrow = plan_.gathers(false) && plan_.casts_shares() ? 0 : elements;
  const ParameterUpdate update{scope_, setup_.clip_gradients};
  const Bytes wide = update.prepare_gradients(elements, std::ssize(parameters_));
  update.on_gpu({parameters_, scope_.storage(), plan_.spec.is_fsdp()}, elements, narrow);
  scope_.memory.release(MemoryUse::Workspace, wide);
  update.share(scope_.bytes(all_), false);
}

void check_sharded_modules(const TrainingSetup& setup) {
  const TransformerPlanSpec& plan = setup.parallelism.transformer;
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument{
        fmt::format("'sharding: {}' of Hugging Face's models {}", name_of(plan.sharding), why)};
  };
  const bool is_mixed_type = is_mixed(setup.precision);
  if (is_mixed_type && setup.mixed_precision == MixedPrecision::Autocast) {
    refuse(
        "is not written with autocast over FP32 parameters, whose gathers and reductions are in FP32: "
        "DeepSpeed "
        "and FSDP's MixedPrecision have the whole model in 16 bits beside FP32 masters, 'mixed_precision: "
        "master_weights'");
  }
  if (setup.mixed_precision == MixedPrecision::Pure &&
      (!plan.is_fsdp() || setup.precision != Precision::BF16)) {
    refuse(
        "with 'mixed_precision: pure' is FSDP's, in BF16: say 'sharding: zero3' with 'zero3_implementation: "
        "fsdp2' "
        "or "
        "'fsdp' and 'precision: bf16', or 'mixed_precision: master_weights'");
  }
  if (setup.framework.compile != Compile::None || setup.framework.apex) {
    refuse("is written for eager models without Apex: leave 'framework: { compile: ..., apex: ... }' out");
  }
  if (setup.phases != Phases::Step || setup.optimizer.kind != Optimizer::AdamW) {
    refuse("is written of whole steps with 'optimizer: adamw': leave 'phases' and other optimizers out");
  }
}

}  // namespace lockstep
