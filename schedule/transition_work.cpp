#include "schedule/transition_work.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "ops/workload/cnn_layers.hpp"

namespace lockstep {
namespace {

constexpr double kFloat = 4, kHalf = 2;

/// Of the moments of an optimizer, in FP32.
double moments(Optimizer optimizer, double momentum) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return momentum != 0 ? kFloat : 0;
    case Optimizer::Adagrad:
    case Optimizer::RowWiseAdagrad:
      return kFloat;
    default:
      return 2 * kFloat;
  }
}

void add_mlp(std::vector<std::int64_t>& tensors, std::int64_t input, std::span<const std::int64_t> widths) {
  for (const std::int64_t width : widths) {
    tensors.push_back(input * width);
    tensors.push_back(width);
    input = width;
  }
}

std::vector<std::int64_t> dense_tensors(const DlrmSpec& dlrm) {
  std::vector<std::int64_t> tensors;
  add_mlp(tensors, dlrm.bottom_mlp.front(), std::span{dlrm.bottom_mlp}.subspan(1));
  const std::int64_t width = dlrm.interaction_width();
  for (int layer = 0; layer < dlrm.cross_layers; ++layer) {
    tensors.insert(tensors.end(), {width * dlrm.cross_projection, dlrm.cross_projection * width, width});
  }
  add_mlp(tensors, width, dlrm.top_mlp);
  return tensors;
}

double sum(std::span<const std::int64_t> tensors) {
  return static_cast<double>(std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0}));
}

/// How parameters are cut.
struct Cut {
  double replica = 1;  ///< ranks that hold a replica's parameters together
  int share = 1;       ///< replicas that share what ZeRO shares
  Sharding sharding = Sharding::None;

  [[nodiscard]] double weights() const { return sharding == Sharding::Zero3 ? share : 1; }
  [[nodiscard]] double states() const { return sharding != Sharding::None ? share : 1; }
};

Cut cut_of(const TransitionSide& side) {
  const TransformerPlanSpec& plan = side.parallelism->transformer;
  const int replica = plan.tensor * plan.pipeline;
  const int replicas = std::max(1, side.ranks / replica);
  return {static_cast<double>(replica),
          plan.sharding == Sharding::None ? 1 : std::min(replicas, plan.shard_group.value_or(replicas)),
          plan.sharding};
}

bool is_cut_alike(const TransitionSide& before, const TransitionSide& after) {
  const TransformerPlanSpec &a = before.parallelism->transformer, &b = after.parallelism->transformer;
  return a == b && before.ranks == after.ranks;
}

/// All-gathered: the whole buffer of one replica's part.
double shared_bytes(const ChangedElements& changed, const Cut& cut, const ElementBytes& bytes,
                    bool keeps_states) {
  const double states = keeps_states ? bytes.optimizer : 0;
  switch (cut.sharding) {
    case Sharding::None:
      return 0;
    case Sharding::Zero3:
      return changed.before * (bytes.weight + states) / cut.replica;
    default:
      return changed.all_before * states / cut.replica;
  }
}

}  // namespace

ElementBytes element_bytes(const WorkloadSpec& workload, const ParallelismSpec& parallelism) {
  const ModelSpec& model = *workload.model;
  if (model.dlrm) {
    return {kFloat, moments(dense_optimizer(model.dlrm->optimizer), 0)};
  }
  const double of_moments = moments(workload.update().kind, workload.momentum);
  const bool mixed = is_mixed(workload.precision);
  const bool pure = workload.mixed_precision == MixedPrecision::Pure;
  const bool in_modules = model.cnn || model.is_hugging_face();
  if (!mixed || (in_modules &&
                 workload.mixed_precision.value_or(MixedPrecision::Autocast) == MixedPrecision::Autocast)) {
    return {kFloat, of_moments};
  }
  if (pure) {
    return {kHalf, of_moments / 2};
  }
  return parallelism.transformer.is_fsdp() ? ElementBytes{kFloat, of_moments}
                                           : ElementBytes{kHalf, kFloat + of_moments};
}

std::vector<std::int64_t> dense_tensors(const ModelSpec& model) {
  return model.dlrm              ? dense_tensors(*model.dlrm)
         : model.transformer     ? model.transformer->parameters()
         : model.encoder_decoder ? model.encoder_decoder->parameters()
         : model.xlnet           ? model.xlnet->parameters()
                                 : cnn_parameters(model.cnn.value());
}

ChangedElements changed_elements(std::span<const std::int64_t> before, std::span<const std::int64_t> after) {
  std::map<std::int64_t, std::int64_t> more;  // by size: tensors that only the one before has, or fewer
  for (const std::int64_t size : before) ++more[size];
  for (const std::int64_t size : after) --more[size];
  ChangedElements changed{0, 0, sum(before), sum(after)};
  for (const auto& [size, count] : more) {
    (count > 0 ? changed.before : changed.after) += static_cast<double>(size * std::abs(count));
  }
  return changed;
}

bool TransitionWork::is_nothing() const {
  return scored == 0 && gathered == 0 && filled == 0 && shared == 0 && broadcast == 0 && written == 0 &&
         read == 0 && table_gathered.empty() && moved.empty();
}

TransitionWork transition_work(const TransitionSide& before, const TransitionSide& after,
                               const TransitionSpec& spec, double structures) {
  const ChangedElements changed =
      changed_elements(dense_tensors(*before.workload->model), dense_tensors(*after.workload->model));
  const ElementBytes bytes = element_bytes(*before.workload, *before.parallelism);
  const Cut old_cut = cut_of(before), new_cut = cut_of(after);
  const bool keeps = spec.optimizer_state == StatesAfter::Keep, alike = is_cut_alike(before, after);
  const double weight = bytes.weight / new_cut.weights(), states = bytes.optimizer / new_cut.states();
  const double both = std::min(changed.before, changed.after) / new_cut.replica;
  const double of_new = changed.after / new_cut.replica;
  TransitionWork work;
  if (changed.before > changed.after && spec.score != Scoring::None) {
    const bool reads_moments = spec.score == Scoring::SecondMoment;
    work.structures = structures;
    work.scored =
        changed.before / old_cut.replica *
        (bytes.weight / old_cut.weights() + (reads_moments ? bytes.optimizer / 2 / old_cut.states() : 0));
  }
  work.gathered = both * (weight + (keeps ? states : 0));
  work.filled = (of_new - both) * (weight + (keeps ? states : 0)) + (keeps ? 0 : of_new * states);
  work.share = old_cut.share;
  const bool differs = changed.before > 0 || changed.after > 0;
  if (!alike) {
    work.shared = changed.all_before * (bytes.weight + bytes.optimizer) / old_cut.replica;
    work.share = std::max(1, before.ranks / static_cast<int>(old_cut.replica));
  } else if (differs) {
    work.shared = shared_bytes(changed, old_cut, bytes, keeps);
  }
  if (spec.agreement == Agreement::Broadcast && new_cut.sharding != Sharding::Zero3) {
    work.broadcast = of_new * bytes.weight;
  }
  if (spec.checkpoint.bandwidth && (differs || !alike)) {
    work.written = changed.all_before / old_cut.replica *
                   (bytes.weight / old_cut.weights() + bytes.optimizer / old_cut.states());
    work.read = changed.all_after / new_cut.replica * (weight + states);
  }
  return work;
}

}  // namespace lockstep
