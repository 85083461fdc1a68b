#include "calibration/measure/options.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace lockstep {
namespace {

Options options(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "lockstep-measure");
  return options_of(static_cast<int>(arguments.size()), arguments.data()).value();
}

std::string message(const std::vector<const char*>& arguments) {
  try {
    static_cast<void>(options(arguments));
  } catch (const InputError& problem) {
    return problem.what();
  }
  return "nothing was wrong";
}

TEST(MeasureOptions, DefaultToEverything) {
  const Options all = options({});
  EXPECT_EQ(all.extent, Extent::Full);
  EXPECT_EQ(all.out, "measurements");
  EXPECT_EQ(all.families.size(), measured_families().size());
  EXPECT_FALSE(all.list || all.check || all.resume);
}

TEST(MeasureOptions, TakesFamiliesWithCommasInTheOrderOfMeasuring) {
  const Options some = options({"--only", "gemm,copy", "--quick", "--resume", "--out", "there"});
  ASSERT_EQ(some.families.size(), 2U);
  EXPECT_EQ(some.families[0]->name, "copy");
  EXPECT_EQ(some.families[1]->name, "gemm");
  EXPECT_EQ(some.extent, Extent::Quick);
  EXPECT_TRUE(some.resume);
  EXPECT_EQ(some.out, "there");
}

TEST(MeasureOptions, SaysWhatWasMeant) {
  EXPECT_EQ(message({"--only", "colective"}),
            "--only: there is no family 'colective' - did you mean 'collective'?");
  EXPECT_NE(message({"--quik"}).find("did you mean '--quick'?"), std::string::npos) << message({"--quik"});
}

}  // namespace
}  // namespace lockstep
