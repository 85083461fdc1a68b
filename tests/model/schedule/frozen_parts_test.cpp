/// @file
/// Steps with frozen parts, held against their full steps by hand.

#include <gmock/gmock.h>

#include <numeric>

#include "ops/model_flops.hpp"
#include "schedule/schedule_prediction.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSmallDlrm =
    "name: x\ncluster: dgx_a100 x 1\nworkload: { model: dlrm_default, global_batch: 16384 }\n";

ResolvedScenario resolved_with(const std::string& base, const std::string& freeze) {
  YamlDocument document = YamlDocument::from_text(base, "scenario.yaml");
  document.set("workload.freeze", freeze);
  return build(document, ConfigPath::standard());
}

double flops(const ResolvedScenario& resolved) {
  return model_flops(resolved.job).in_base_units();
}

/// Bytes that rank 0 gives to collectives of a kind.
double bytes_of(const ResolvedScenario& resolved, CollectiveKind kind) {
  const Program& program = *resolved.job.programs.front();
  double bytes = 0;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::Collective && !instruction.per_rank &&
          program.collectives[instruction.operand].kind == kind) {
        bytes += program.collectives[instruction.operand].size.in_base_units();
      }
    }
  }
  return bytes;
}

std::size_t launches(const ResolvedScenario& resolved) {
  std::size_t count = 0;
  for (const Program::Thread& thread : resolved.job.programs.front()->threads) {
    for (const Instruction& instruction : thread.instructions) {
      count += instruction.op == Opcode::Launch ? 1 : 0;
    }
  }
  return count;
}

/// Multiplications of weights by a sample, of all layers and of all but the first.
std::pair<double, double> products_of(const std::vector<std::int64_t>& widths) {
  double all = 0, later = 0;
  for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    const auto product = static_cast<double>(widths[layer] * widths[layer + 1]);
    all += product;
    later += layer > 0 ? product : 0;
  }
  return {all, later};
}

// Backward of the bottom MLP: gradients of all weights, and of the inputs of all layers but the first.
TEST(Frozen, ABottomMlpHasNoBackward) {
  const ResolvedScenario full = resolved_with(kSmallDlrm, "[]"),
                         frozen = resolved_with(kSmallDlrm, "[bottom_mlp]");
  const DlrmSpec& dlrm = *full.scenario.workload->model->dlrm;
  const auto [all, later] = products_of(dlrm.bottom_mlp);
  EXPECT_NEAR(flops(full) - flops(frozen), 2 * 16384 * (all + later), 1);
}

// A frozen top MLP still passes gradients on: the weights' alone go, and their all-reduce.
TEST(Frozen, ATopMlpPassesGradientsOn) {
  const ResolvedScenario full = resolved_with(kSmallDlrm, "[]"),
                         frozen = resolved_with(kSmallDlrm, "[top_mlp]");
  const DlrmSpec& dlrm = *full.scenario.workload->model->dlrm;
  std::vector<std::int64_t> widths{dlrm.interaction_width()};
  widths.insert(widths.end(), dlrm.top_mlp.begin(), dlrm.top_mlp.end());
  const double weights = products_of(widths).first,
               biases = std::accumulate(dlrm.top_mlp.begin(), dlrm.top_mlp.end(), 0.0);
  EXPECT_NEAR(flops(full) - flops(frozen), 2 * 16384 * weights, 1);
  EXPECT_EQ(bytes_of(full, CollectiveKind::AllReduce) - bytes_of(frozen, CollectiveKind::AllReduce),
            4 * (weights + biases));
  const double gradients =
      full.job.memory[0][MemoryUse::Gradients] - frozen.job.memory[0][MemoryUse::Gradients];
  EXPECT_EQ(gradients, 4 * (weights + biases));
}

// Pooled rows travel forward; their gradients do not travel back, and no table is updated.
TEST(Frozen, TablesSendNothingBack) {
  const ResolvedScenario full = resolved_with(kSmallDlrm, "[]"),
                         frozen = resolved_with(kSmallDlrm, "[embedding]");
  EXPECT_EQ(flops(full), flops(frozen));
  EXPECT_LT(launches(frozen), launches(full));
  const auto per_rank = [](const ResolvedScenario& resolved) {
    std::size_t count = 0;
    for (const Program::Thread& thread : resolved.job.programs.front()->threads) {
      for (const Instruction& instruction : thread.instructions) {
        count += instruction.op == Opcode::Collective && instruction.per_rank ? 1 : 0;
      }
    }
    return count;
  };
  const double all_to_all = bytes_of(full, CollectiveKind::AllToAll);
  EXPECT_TRUE(per_rank(frozen) < per_rank(full) || bytes_of(frozen, CollectiveKind::AllToAll) < all_to_all);
}

/// The scenario of a transformer with so many layers.
std::string gpt_of(const std::string& model, int layers) {
  return "name: x\ncluster: dgx_a100 x 1\nworkload: { model: { from: " + model +
         ", transformer: { layers: " + std::to_string(layers) + " } }, global_batch: 16, precision: bf16 }\n";
}

/// Of a step's FLOPs in a layer two thirds are its backward. A frozen embedding that is tied also saves the
/// output's weight gradient, of @p vocabulary rows.
void expect_backward_ends(const std::string& model, double vocabulary) {
  const ResolvedScenario full = resolved_with(gpt_of(model, 4), "[]"),
                         frozen = resolved_with(gpt_of(model, 4), "[embedding, layers 0..1]");
  const double layer = flops(full) - flops(resolved_with(gpt_of(model, 3), "[]"));
  const TransformerSpec& spec = *full.scenario.workload->model->transformer;
  const double tokens = 16.0 * static_cast<double>(spec.sequence);
  const double output = spec.tied ? 2 * tokens * static_cast<double>(spec.hidden) * vocabulary : 0;
  const double saved = flops(full) - flops(frozen);
  EXPECT_NEAR(saved, 2 * layer * 2 / 3 + output, 1e-9 * flops(full)) << model;
  // Adam's two moments, master weights where there are any, and gradients: of what is trained alone.
  const MemoryBreakdown &a = full.job.memory[0], &b = frozen.job.memory[0];
  EXPECT_LT(b[MemoryUse::Optimizer], 0.6 * a[MemoryUse::Optimizer]) << model;
  EXPECT_LT(b[MemoryUse::Activations], a[MemoryUse::Activations]) << model;
  EXPECT_LT(bytes_of(frozen, CollectiveKind::AllReduce), 0.6 * bytes_of(full, CollectiveKind::AllReduce))
      << model;
}

TEST(Frozen, BackwardOfAHuggingFaceGptEndsAtTheLowestTrainedLayer) {
  expect_backward_ends("gpt2", 50257);
}

TEST(Frozen, BackwardOfAMegatronGptEndsAtTheLowestTrainedLayer) {
  expect_backward_ends("gpt3_1b3", 50304);  // padded to 128
}

// Layers that are frozen above a trained one pass gradients on: the weights' products go, a third of those of
// weights. Attention has none of its own.
TEST(Frozen, ALayerAboveATrainedOnePassesGradientsOn) {
  for (const std::string model : {"gpt2", "gpt3_1b3"}) {
    const ResolvedScenario full = resolved_with(gpt_of(model, 4), "[]"),
                           frozen = resolved_with(gpt_of(model, 4), "[layers 2]");
    const TransformerSpec& spec = *full.scenario.workload->model->transformer;
    const auto hidden = static_cast<double>(spec.hidden);
    EXPECT_NEAR(flops(full) - flops(frozen),
                2 * 16.0 * static_cast<double>(spec.sequence) * 12 * hidden * hidden, 1)
        << model;
  }
}

TEST(Frozen, ShardsOfFrozenLayersAreNotReducedNorGatheredForBackward) {
  const std::string base = gpt_of("gpt3_1b3", 4) + "parallelism: { sharding: zero3 }\n";
  const ResolvedScenario full = resolved_with(base, "[]"),
                         frozen = resolved_with(base, "[embedding, layers 0..1]");
  EXPECT_LT(bytes_of(frozen, CollectiveKind::ReduceScatter),
            0.55 * bytes_of(full, CollectiveKind::ReduceScatter));
  EXPECT_LT(bytes_of(frozen, CollectiveKind::AllGather), bytes_of(full, CollectiveKind::AllGather));
}

TEST(Frozen, BlocksOfACnnBelowTheLowestTrainedOneHaveNoBackward) {
  const std::string base =
      "name: x\ncluster: dgx1v x 1\nworkload: { model: resnet50, global_batch: 64, precision: fp32 }\n";
  const ResolvedScenario full = resolved_with(base, "[]"), head = resolved_with(base, "[blocks]");
  const double forward_of_head = 2 * 64 * 2048 * 1000.0;
  // All blocks: forward alone, and the head's product and weight gradient.
  const double first = 2 * 64 * 112 * 112 * 64 * 3 * 49.0;  // whose input has no gradient anyway
  EXPECT_NEAR(flops(full), 3 * (flops(head) - 2 * forward_of_head) - first + 3 * forward_of_head,
              1e-9 * flops(full));
  EXPECT_EQ(head.job.memory[0][MemoryUse::Gradients], 4 * (2048 * 1000 + 1000.0));
  EXPECT_LT(flops(resolved_with(base, "[blocks 0..7]")), flops(full));
}

TEST(Frozen, APhaseIsTheScenarioWithItsParts) {
  YamlDocument document = YamlDocument::from_text(std::string{kSmallDlrm} +
                                                      "schedule: { steps: 1000, phases: [{ name: tuned, "
                                                      "until: 50 %, freeze: [embedding, bottom_mlp] }, { "
                                                      "name: full, until: 100 % }] }\n",
                                                  "scenario.yaml");
  const ConfigPath configs = ConfigPath::standard();
  const Timelines nobody{[](const auto&, const auto&, const auto&) { return TimelineRequest{}; }, [] {}};
  const SchedulePrediction prediction =
      predict_schedule(scheduled_scenario(document, configs), configs, document, nobody);
  const ResolvedScenario by_hand = resolved_with(kSmallDlrm, "[embedding, bottom_mlp]");
  EXPECT_EQ(prediction.phases[0].figures.step,
            predict(by_hand, nullptr, EngineMode::Bare).mean_step().in_base_units());
  EXPECT_LT(prediction.phases[0].figures.step, prediction.full.step);
  EXPECT_EQ(prediction.transitions[0].seconds, 0);
}

// Megatron keeps a master weight and two moments, 12 B a parameter; two of four layers begin to have them.
TEST(Frozen, StatesOfPartsThatAreTrainedAgainBeginAsZeros) {
  const YamlDocument document =
      YamlDocument::from_text(gpt_of("gpt3_1b3", 4) +
                                  "schedule: { steps: 1000, phases: [{ name: tuned, until: 50 %, freeze: "
                                  "[layers 0..1] }, { name: full, "
                                  "until: 100 % }] }\n",
                              "scenario.yaml");
  const ConfigPath configs = ConfigPath::standard();
  const Timelines nobody{[](const auto&, const auto&, const auto&) { return TimelineRequest{}; }, [] {}};
  const SchedulePrediction prediction =
      predict_schedule(scheduled_scenario(document, configs), configs, document, nobody);
  const double layer = 12 * 2048.0 * 2048 + 13 * 2048;
  EXPECT_NEAR(prediction.transitions[0].work.filled, 12 * 2 * layer, 1);
  EXPECT_GT(prediction.transitions[0].seconds, 0);
}

std::string complaint(const std::string& base, const std::string& freeze) {
  try {
    (void)resolved_with(base, freeze);
  } catch (const InputError& problem) {
    return problem.what();
  }
  return "";
}

TEST(Frozen, WhatCannotBeIsTold) {
  EXPECT_THAT(complaint(kSmallDlrm, "[embeding]"), HasSubstr("did you mean 'embedding'"));
  EXPECT_THAT(complaint(kSmallDlrm, "[layers]"), HasSubstr("the model has no 'layers' to freeze"));
  EXPECT_THAT(complaint(kSmallDlrm, "[bottom_mlp, embedding, top_mlp]"),
              HasSubstr("nothing would be trained"));
  EXPECT_THAT(complaint(gpt_of("gpt2", 4), "[layers 2..4]"), HasSubstr("0 to 3: there is no 4"));
  EXPECT_THAT(complaint(gpt_of("gpt3_1b3", 4) + "parallelism: { pipeline: 2 }\n", "[layers 0]"),
              HasSubstr("written without a pipeline"));
}

}  // namespace
}  // namespace lockstep
