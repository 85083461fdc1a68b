#include "schedule/transition_work.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "ops/workload/parallel/framework_rules.hpp"
#include "schedule/model_tensors.hpp"

namespace lockstep {
namespace {

constexpr double kFloat = 4, kHalf = 2;

/// Bytes of the moments of an optimizer, in FP32.
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

Cut cut_of(const TransitionSide& side, bool expert) {
  const TransformerPlanSpec& plan = side.parallelism->transformer;
  const int replica = (expert ? plan.expert * plan.expert_tensor : plan.tensor) * plan.pipeline;
  const int replicas = std::max(1, side.ranks / replica);
  return {static_cast<double>(replica),
          plan.sharding == Sharding::None ? 1 : std::min(replicas, plan.shard_group.value_or(replicas)),
          plan.sharding};
}

bool is_cut_alike(const TransitionSide& before, const TransitionSide& after) {
  const TransformerPlanSpec &a = before.parallelism->transformer, &b = after.parallelism->transformer;
  return a == b && before.ranks == after.ranks;
}

/// Bytes that are all-gathered: the whole buffer of one replica's part.
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
  const bool is_fsdp = model.transformer
                           ? with_zero3_implementation(parallelism.transformer, *model.transformer).is_fsdp()
                           : parallelism.transformer.is_fsdp();
  return is_fsdp ? ElementBytes{kFloat, of_moments} : ElementBytes{kHalf, kFloat + of_moments};
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
         read == 0 && tables.empty() && moved.empty();
}

namespace {

/// Parameters that are cut alike: dense ones, or experts'.
class PartOfModel {
 public:
  PartOfModel(const TransitionSide& before, const TransitionSide& after, bool expert)
      : changed_{expert ? changed_elements(model_tensors(*before.workload->model).expert,
                                           model_tensors(*after.workload->model).expert)
                        : changed_elements(model_tensors(*before.workload->model).dense,
                                           model_tensors(*after.workload->model).dense)},
        bytes_{element_bytes(*before.workload, *before.parallelism)},
        old_cut_{cut_of(before, expert)},
        new_cut_{cut_of(after, expert)},
        is_cut_alike_{lockstep::is_cut_alike(before, after)},
        replicas_{std::max(1, before.ranks / static_cast<int>(old_cut_.replica))} {}

  void add_to(TransitionWork& work, const TransitionSpec& spec) const {
    const bool keeps = spec.optimizer_state == StatesAfter::Keep;
    const double weight = bytes_.weight / new_cut_.weights(), states = bytes_.optimizer / new_cut_.states();
    const double both = std::min(changed_.before, changed_.after) / new_cut_.replica;
    const double of_new = changed_.after / new_cut_.replica;
    if (changed_.before > changed_.after) {
      work.scored += scored(spec.score);
    }
    work.gathered += both * (weight + (keeps ? states : 0));
    work.filled += (of_new - both) * (weight + (keeps ? states : 0)) + (keeps ? 0 : of_new * states);
    add_shared(work, keeps);
    if (spec.agreement == Agreement::Broadcast && new_cut_.sharding != Sharding::Zero3) {
      work.broadcast += of_new * bytes_.weight;
    }
    if (spec.checkpoint.bandwidth) {
      work.written += changed_.all_before / old_cut_.replica *
                      (bytes_.weight / old_cut_.weights() + bytes_.optimizer / old_cut_.states());
      work.read += changed_.all_after / new_cut_.replica * (weight + states);
    }
  }

  [[nodiscard]] bool differs() const { return changed_.before > 0 || changed_.after > 0 || !is_cut_alike_; }

 private:
  [[nodiscard]] double scored(Scoring score) const {
    const double moments = score == Scoring::SecondMoment ? bytes_.optimizer / 2 / old_cut_.states() : 0;
    return score == Scoring::None
               ? 0
               : changed_.before / old_cut_.replica * (bytes_.weight / old_cut_.weights() + moments);
  }

  void add_shared(TransitionWork& work, bool keeps) const {
    if (!is_cut_alike_) {
      work.shared += changed_.all_before * (bytes_.weight + bytes_.optimizer) / old_cut_.replica;
      work.share = std::max(work.share, replicas_);
    } else if (differs()) {
      work.shared += shared_bytes(changed_, old_cut_, bytes_, keeps);
      work.share = std::max(work.share, old_cut_.share);
    }
  }

  ChangedElements changed_;
  ElementBytes bytes_;
  Cut old_cut_, new_cut_;
  bool is_cut_alike_;
  int replicas_;
};

}  // namespace

TransitionWork transition_work(const TransitionSide& before, const TransitionSide& after,
                               const TransitionSpec& spec, double structures) {
  TransitionWork work;
  const PartOfModel dense{before, after, false}, expert{before, after, true};
  if (!dense.differs() && !expert.differs()) {
    return work;
  }
  dense.add_to(work, spec);
  expert.add_to(work, spec);
  work.structures = work.scored > 0 ? structures : 0;
  return work;
}

}  // namespace lockstep
