#include "app/profile_listing.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

const ListedNumber& number(const ProfileListing& listing, const std::string& key) {
  const auto found = std::ranges::find(listing.numbers, key, &ListedNumber::key);
  if (found == listing.numbers.end()) {
    throw std::out_of_range{listing.name + " has no " + key};
  }
  return *found;
}

class ShippedProfiles : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedProfiles, SayOfEveryNumberWhereItIsFrom) {
  const ConfigPath configs = ConfigPath::standard();
  for (const std::string& name : configs.names(GetParam())) {
    const ProfileListing listing = list_profile(configs.find(GetParam(), name).string(), configs);
    EXPECT_EQ(listing.kind, GetParam());
    EXPECT_FALSE(listing.numbers.empty());
    for (const ListedNumber& each : listing.numbers) {
      EXPECT_NE(each.evidence.source, "not said") << name << ": " << each.key;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfAllKinds, ShippedProfiles,
                         ::testing::Values("gpus", "kernel_efficiency", "profiles", "hosts"));

TEST(ProfileListing, OfAGpuHasItsEfficienciesAndKernelModels) {
  const ProfileListing a100 = list_profile("a100_80gb", ConfigPath::standard());
  EXPECT_EQ(number(a100, "memory").value, "80 GiB");
  EXPECT_EQ(number(a100, "memory").evidence.is, Provenance::Measured);
  EXPECT_THAT(number(a100, "sm_count").origin, HasSubstr("configs/gpus/a100_40gb.yaml:"));
  EXPECT_EQ(number(a100, "efficiency.tensor.fixed").evidence.is, Provenance::Fitted);
  EXPECT_EQ(number(a100, "efficiency.random_rows").evidence.is, Provenance::Derived);
  EXPECT_EQ(a100.kernels.front().provenance, Provenance::Fitted);
}

TEST(ProfileListing, WhatIsLentToAnotherGpuIsDerivedThere) {
  const ConfigPath configs = ConfigPath::standard();
  EXPECT_EQ(number(list_profile("h100_80gb", configs), "efficiency.memory").evidence.is, Provenance::Fitted);
  const ProfileListing pcie = list_profile("h100_80gb_pcie", configs);
  EXPECT_EQ(number(pcie, "efficiency.memory").evidence.is, Provenance::Derived);
  EXPECT_EQ(pcie.kernels.front().provenance, Provenance::Derived);
}

TEST(ProfileListing, SaysWhyNetworksDoNotAnswer) {
  EXPECT_EQ(list_profile("a100_80gb", ConfigPath::standard()).remark, "");
  const test::ScratchFolder folder;
  folder.write("mine.yaml",
               "include: gpus/a100_80gb.yaml\nmemory_bandwidth: 800 GB/s\n"
               "provenance:\n  efficiency: derived, a100_80gb's\n");
  const ProfileListing changed = list_profile((folder / "mine.yaml").string(), ConfigPath::standard());
  EXPECT_THAT(listing_text(changed),
              HasSubstr("the networks do not answer, since guessed: memory_bandwidth"));
  EXPECT_THAT(listing_json(changed), HasSubstr("\"remark\""));
}

TEST(ProfileListing, AnOperatorsOverheadsAreOneLine) {
  const ProfileListing host = list_profile("v100_lin_2022", ConfigPath::standard());
  EXPECT_THAT(number(host, "operators.aten::relu").value, HasSubstr("before_first_launch: 21.1 us"));
  EXPECT_EQ(number(host, "runtime_calls.launch_kernel").value, "4 us");
}

TEST(ProfileListing, IsPrintedByWhatNumbersRestOn) {
  const std::string text = listing_text(list_profile("pcie", ConfigPath::standard()));
  EXPECT_THAT(text, HasSubstr("pcie (profiles): "));
  EXPECT_THAT(text, HasSubstr("\nmeasured: two A100-PCIE exchange 21.7 GB/s"));
  EXPECT_THAT(text, HasSubstr("link_efficiency.pcie                      0.82\n"));
  EXPECT_THAT(listing_json(list_profile("pcie", ConfigPath::standard())),
              HasSubstr(R"("key": "link_efficiency.pcie")"));
}

TEST(ProfileListing, OfSomethingElseIsTheUsersMistake) {
  const ConfigPath configs = ConfigPath::standard();
  try {
    static_cast<void>(list_profile("a100_80bg", configs));
    FAIL();
  } catch (const std::invalid_argument& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("no profile 'a100_80bg' - did you mean 'a100_80gb'?"));
  }
  test::ScratchFolder folder;
  folder.write("other.yaml", "name: a scenario\n");
  EXPECT_THROW(static_cast<void>(list_profile((folder.path() / "other.yaml").string(), configs)), InputError);
}

}  // namespace
}  // namespace lockstep
