#include "app/commands/validate.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "calibration/validation_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

/// A set of one additions' table, of a GPU in a file of its own in the folder above.
void write_set(const test::ScratchFolder& folder, const std::string& unit) {
  folder.write("my_gpu.yaml", "include: gpus/t4_16gb.yaml\nname: my_gpu\n");
  folder.write("sets/mine.csv", "elements,time\n100000000,5.2\n200000000,10.4\n");
  folder.write(
      "sets/mine.yaml",
      "name: mine\ntitle: additions\nsource: made up\npredicts: kernel\ntable: mine.csv\nunit: " + unit +
          "\nmeasured: { step: time }\n"
          "scenario: { gpu: ../my_gpu.yaml, family: pointwise, type: fp32, reads: 2, writes: 1, flops: 1 }\n"
          "copied: { elements: elements }\n");
}

Validation validated(const test::ScratchFolder& folder) {
  return validate_set((folder / "sets/mine.yaml").string(), ConfigPath::standard(), {});
}

TEST(ValidateSet, files_that_a_set_names_are_looked_up_beside_it) {
  const test::ScratchFolder folder;
  write_set(folder, "1 ms");
  const Validation validation = validated(folder);
  ASSERT_EQ(validation.points.size(), 2U);
  EXPECT_NEAR(validation.points[0].step.error(), 0, 0.1);
  EXPECT_EQ(doubts_about_unit(validation), "");
}

TEST(ValidateSet, a_table_wants_a_set) {
  EXPECT_THAT(
      [] { (void)validate_set("own.csv", ConfigPath::standard(), {}); },
      ::testing::ThrowsMessage<InputError>(::testing::HasSubstr("own.csv: is a table: name the set")));
}

TEST(ValidateSet, a_unit_that_cannot_be_is_told) {
  const test::ScratchFolder folder;
  write_set(folder, "1 s");
  EXPECT_THAT(doubts_about_unit(validated(folder)),
              ::testing::HasSubstr("is 'unit' (1 s) that of the table?"));
}

}  // namespace
}  // namespace lockstep
