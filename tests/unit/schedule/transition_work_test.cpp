#include "schedule/transition_work.hpp"

#include <gmock/gmock.h>

#include "base/yaml_reader.hpp"
#include "schedule/model_tensors.hpp"

namespace lockstep {
namespace {

WorkloadSpec gpt(std::int64_t layers, std::int64_t feed_forward = 16384) {
  WorkloadSpec workload;
  const ConfigPath configs = ConfigPath::standard();
  workload.model.value = read_file<ModelSpec>(configs.find("models", "gpt3_6b7"), configs);
  workload.model.value.transformer->layers = layers;
  workload.model.value.transformer->feed_forward = feed_forward;
  workload.precision = Precision::BF16;
  return workload;
}

double elements(const WorkloadSpec& workload) {
  return model_tensors(*workload.model).elements();
}

ParallelismSpec plan(Sharding sharding, int tensor = 1) {
  ParallelismSpec parallelism;
  parallelism.transformer.sharding = sharding;
  parallelism.transformer.tensor = tensor;
  return parallelism;
}

TransitionWork between(const WorkloadSpec& before, const WorkloadSpec& after,
                       const ParallelismSpec& parallelism, const TransitionSpec& spec = {}) {
  return transition_work({&before, &parallelism, 64}, {&after, &parallelism, 64}, spec, 100);
}

TEST(ChangedElements, TensorsOfOneSizeAreTheSameOne) {
  const ChangedElements changed = changed_elements(std::vector<std::int64_t>{10, 20, 20, 30},
                                                   std::vector<std::int64_t>{10, 20, 15, 30, 30});
  EXPECT_EQ(changed.before, 20);
  EXPECT_EQ(changed.after, 15 + 30);
  EXPECT_EQ(changed.all_before, 80);
  EXPECT_EQ(changed.all_after, 105);
}

TEST(ElementBytes, AreThoseOfEachTrainingLoop) {
  WorkloadSpec workload = gpt(32);
  const ElementBytes megatron = element_bytes(workload, plan(Sharding::Zero1));
  EXPECT_EQ(megatron.weight, 2);
  EXPECT_EQ(megatron.optimizer, 12);
  ParallelismSpec fsdp = plan(Sharding::Zero3);
  fsdp.transformer.zero3_implementation = Zero3Implementation::Fsdp2;
  EXPECT_EQ(element_bytes(workload, fsdp).weight, 4);
  EXPECT_EQ(element_bytes(workload, fsdp).optimizer, 8);
  workload.precision = Precision::FP32;
  EXPECT_EQ(element_bytes(workload, plan(Sharding::None)).optimizer, 8);
}

// 24 layers are new; nothing is chosen or gathered, all their bytes are written: 2 + 12 B an element.
TEST(TransitionWork, StackingLayersWritesTheNewOnes) {
  const WorkloadSpec before = gpt(8), after = gpt(32);
  const double more = elements(after) - elements(before);
  const TransitionWork work = between(before, after, plan(Sharding::None));
  EXPECT_EQ(work.scored, 0);
  EXPECT_EQ(work.gathered, 0);
  EXPECT_NEAR(work.filled, 14 * more, 1);
  EXPECT_EQ(work.shared, 0);
}

// The flat buffer of all optimizer states is cut anew: zero1 and zero2 gather 12 B of each element there was.
TEST(TransitionWork, Zero1And2GatherAllStates) {
  const WorkloadSpec before = gpt(8), after = gpt(32);
  for (const Sharding sharding : {Sharding::Zero1, Sharding::Zero2}) {
    const TransitionWork work = between(before, after, plan(sharding, 2));
    EXPECT_NEAR(work.shared, 12 * elements(before) / 2, 1);
    EXPECT_EQ(work.share, 32);
    EXPECT_NEAR(work.filled, (elements(after) - elements(before)) / 2 * (2 + 12.0 / 32), 1);
  }
}

// A flat parameter a layer: layers that stay are not touched, narrower ones are gathered with their states.
TEST(TransitionWork, Zero3GathersWhatDiffers) {
  EXPECT_EQ(between(gpt(8), gpt(32), plan(Sharding::Zero3)).shared, 0);
  const WorkloadSpec before = gpt(32), after = gpt(32, 8192);
  const ChangedElements changed =
      changed_elements(model_tensors(*before.model).dense, model_tensors(*after.model).dense);
  const TransitionWork work = between(before, after, plan(Sharding::Zero3));
  EXPECT_NEAR(work.shared, 14 * changed.before, 1);
  EXPECT_NEAR(work.gathered, 14 * changed.after / 64, 1);
  EXPECT_NEAR(work.scored, 2 * changed.before / 64, 1);
  EXPECT_EQ(work.structures, 100);
}

TEST(TransitionWork, StatesThatAreResetAreNotGathered) {
  const WorkloadSpec before = gpt(32), after = gpt(32, 8192);
  const ChangedElements changed =
      changed_elements(model_tensors(*before.model).dense, model_tensors(*after.model).dense);
  TransitionSpec reset;
  reset.optimizer_state = StatesAfter::Reset;
  const TransitionWork work = between(before, after, plan(Sharding::None), reset);
  EXPECT_NEAR(work.gathered, 2 * changed.after, 1);
  EXPECT_NEAR(work.filled, 12 * changed.after, 1);
}

TEST(TransitionWork, RankZeroSendsNewWeightsWhereAgreementSaysSo) {
  const WorkloadSpec before = gpt(32), after = gpt(32, 8192);
  TransitionSpec spec;
  spec.agreement = Agreement::Broadcast;
  const TransitionWork work = between(before, after, plan(Sharding::None, 4), spec);
  const ChangedElements changed =
      changed_elements(model_tensors(*before.model).dense, model_tensors(*after.model).dense);
  EXPECT_NEAR(work.broadcast, 2 * changed.after / 4, 1);
}

TEST(TransitionWork, ACheckpointHoldsAllStatesOfARank) {
  const WorkloadSpec before = gpt(8), after = gpt(32);
  TransitionSpec spec;
  spec.checkpoint.bandwidth = BytesPerSecond{1e9};
  const TransitionWork work = between(before, after, plan(Sharding::Zero1, 2), spec);
  EXPECT_NEAR(work.written, elements(before) / 2 * (2 + 12.0 / 32), 1);
  EXPECT_NEAR(work.read, elements(after) / 2 * (2 + 12.0 / 32), 1);
}

TEST(TransitionWork, NothingIsDoneBetweenModelsThatAreAlike) {
  EXPECT_TRUE(between(gpt(32), gpt(32), plan(Sharding::Zero2)).is_nothing());
}

// Four of eight experts stay as they are; on eight ranks that share experts each fills its eighth of the new
// ones.
TEST(TransitionWork, ExpertsThatAreAddedAreFilledWhereTheyAre) {
  WorkloadSpec before;
  const ConfigPath configs = ConfigPath::standard();
  before.model.value = read_file<ModelSpec>(configs.find("models", "mixtral_8x7b"), configs);
  before.precision = Precision::BF16;
  WorkloadSpec after = before;
  before.model.value.transformer->experts->count = 4;
  ParallelismSpec parallelism = plan(Sharding::None);
  parallelism.transformer.expert = 4;
  const double of_expert = 32.0 * 3 * 4096 * 14336;  // layers, gate and up and down
  const double of_router = 32.0 * 4096;
  const TransitionWork work = between(before, after, parallelism);
  EXPECT_NEAR(work.filled, 14 * (4 * of_expert / 4 + 4 * of_router), 1);
  EXPECT_NEAR(work.gathered, 14 * 4 * of_router, 1);
}

TEST(TransitionWork, AnotherPlanMovesAllStates) {
  const WorkloadSpec workload = gpt(32);
  const ParallelismSpec before = plan(Sharding::Zero1, 1), after = plan(Sharding::Zero1, 4);
  const TransitionWork work = transition_work({&workload, &before, 64}, {&workload, &after, 64}, {}, 0);
  EXPECT_NEAR(work.shared, 14 * elements(workload), 1);
}

}  // namespace
}  // namespace lockstep
