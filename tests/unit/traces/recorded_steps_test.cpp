/// @file
/// Steps of PyTorch 2.11 on an H200 (tools/capture/capture.py, tests/data/h200_steps): both traces of each
/// are read, linked and replayed.

#include <gtest/gtest.h>

#include <string>

#include "traces/kineto/kineto_reader.hpp"
#include "traces/pytorch_et/kineto_link.hpp"
#include "traces/pytorch_et/trace_reader.hpp"

namespace lockstep::testing {
namespace {

struct Step {
  const char* name;
  std::size_t operators, work;  ///< of the profile: what PyTorch called, what the GPU did
};

class RecordedSteps : public ::testing::TestWithParam<Step> {};

TEST_P(RecordedSteps, are_read_and_linked) {
  const std::string path = std::string{LOCKSTEP_SOURCE_DIR "/tests/data/h200_steps/"} + GetParam().name;
  const kineto::RecordedTrace profile = kineto::read_kineto(path + ".kineto.json.gz");
  EXPECT_EQ(profile.operators.size(), GetParam().operators);
  EXPECT_EQ(profile.work.size(), GetParam().work);

  ImportReport report;
  const auto link =
      pytorch_et::link_to_kineto(pytorch_et::read_execution_trace(path + ".et.json.gz"), profile, report);
  EXPECT_GT(link.confidence(), 0.92);
  EXPECT_EQ(link.repeats, 1U);
}

INSTANTIATE_TEST_SUITE_P(H200, RecordedSteps,
                         ::testing::Values(Step{"gpt2_b4_bf16", 6420, 931}, Step{"bert_b8_tf32", 5427, 738},
                                           Step{"resnet50_b64_bf16", 3606, 999},
                                           Step{"dlrm_b2048_tf32", 946, 117}),
                         [](const auto& step) { return std::string{step.param.name}; });

}  // namespace
}  // namespace lockstep::testing
