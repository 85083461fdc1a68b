#include "search/learned/weights_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "search/learned/adam.hpp"
#include "search/learned/training.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/sharding_tasks.hpp"

namespace lockstep::sharding::learned {
namespace {

using lockstep::testing::random_task;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string weights_of(const char* method) {
  PolicyScale scale;
  scale.features.mean = {16, 1e6, 0.1, 3};
  scale.unit = Seconds{1.0 / 3};
  scale.batch = 4096;
  const auto policy = untrained_policy(method, scale);
  round_to_single(policy->parameters());
  return weights_json(*policy);
}

class WeightsFile : public ::testing::Test {
 protected:
  std::unique_ptr<PlacementPolicy> read(const std::string& text) {
    folder_.write("policy.json", text);
    return read_weights(path());
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "policy.json"; }

  void expect_complaint(std::string text, const std::string& from, const std::string& to,
                        const std::string& message) {
    const auto place = text.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    text.replace(place, from.size(), to);
    try {
      (void)read(text);
      FAIL() << "no complaint of " << message;
    } catch (const InputError& problem) {
      EXPECT_THAT(problem.what(), AllOf(HasSubstr("policy.json"), HasSubstr(message),
                                        HasSubstr("lockstep search --save-weights")));
    }
  }

 private:
  lockstep::test::ScratchFolder folder_;
};

TEST_F(WeightsFile, HoldsExactlyWhatWasLearnt) {
  const Task task = random_task(4, 20, 4, 1e9);
  for (const char* method : {"autoshard", "dreamshard"}) {
    const std::string text = weights_of(method);
    const auto policy = read(text);
    EXPECT_EQ(policy->method(), method);
    EXPECT_EQ(policy->scale().batch, 4096);
    EXPECT_EQ(policy->scale().unit, Seconds{1.0 / 3});
    EXPECT_EQ(weights_json(*policy), text);
    EXPECT_EQ(policy->place(task), read(text)->place(task));
  }
}

TEST_F(WeightsFile, SaysWhatIsWrong) {
  const std::string text = weights_of("dreamshard");
  expect_complaint(text, "placement policy 1", "placement policy 2", "\"format\" is not");
  expect_complaint(text, "\"dreamshard\"", "\"neuroshard\"", "neither autoshard nor dreamshard");
  expect_complaint(text, "\"dreamshard\"", "\"autoshard\"", "\"costs.head.1.weights\" is missing");
  expect_complaint(text, "\"rows\": 128", "\"rows\": 127",
                   "is 127 x 21 numbers, in this method's networks it is");
  expect_complaint(text, "\"unit_s\": 0", "\"unit_s\": -0", "not above 0");
  expect_complaint(text, "\"batch\": 4096", "\"batch\": 0", "no number of samples");
  expect_complaint(text, "\"mean\": [16,", "\"mean\": [", "has 3 numbers, 4 belong there");
  expect_complaint(text, "\"mean\": [16,", "\"mean\": [null,", "where a number belongs");
  expect_complaint(text, "\"values\": [", "\"values\": [1, ", "2689 numbers, 2688 belong there");
  expect_complaint(text, "\"parameters\": {", "\"parameters\": {\"more\": 1,",
                   "members, this method's networks");
  expect_complaint(text, "\"costs.tables.1.weights\": {", "\"costs.tables.1.weights\": 7, \"x\": {",
                   "\"rows\" is missing");
}

TEST_F(WeightsFile, SaysWhereItIsNoJson) {
  expect_complaint(weights_of("autoshard"), "\"parameters\": {", "\"parameters\": {]",
                   "policy.json:7: this is no JSON");
  EXPECT_THROW((void)read(""), InputError);
  EXPECT_THROW((void)read("[1, 2]"), InputError);
  EXPECT_THROW((void)read_weights(path().parent_path() / "nothing.json"), InputError);
}

}  // namespace
}  // namespace lockstep::sharding::learned
