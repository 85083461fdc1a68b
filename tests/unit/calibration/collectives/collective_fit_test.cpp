#include "calibration/collectives/collective_fit.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/collectives/collective_fit_text.hpp"
#include "calibration/collectives/fit_doubts.hpp"
#include "calibration/collectives/fitted_profile.hpp"
#include "calibration/collectives/group_errors.hpp"
#include "ops/collectives/collective_planner.hpp"
#include "tests/support/scratch_folder.hpp"
#include "topology/network_fabric.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

using namespace literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

CollectiveProfile shipped(const std::string& name) {
  const ConfigPath configs = ConfigPath::standard();
  return read_file<CollectiveProfile>(configs.find("profiles", name), configs);
}

/// Rows that nccl-tests would print for a machine that behaves as @p profile says, @p added slower each.
CollectiveMeasurements measurements_of(const Fabric& fabric, const CollectiveProfile& profile,
                                       Seconds added) {
  CollectivePlanner planner{fabric};
  planner.set_profile(profile);
  CollectiveMeasurements made{{"made up"}, {}};
  for (const int gpus : {2, 3, 4, 8}) {
    const std::vector<VertexId> members{fabric.gpus().begin(), fabric.gpus().begin() + gpus};
    for (Bytes size = 64_KiB; size <= 1_GiB; size = 2.0 * size) {
      CollectiveRequest request;
      request.size = size;
      made.rows.push_back({CollectiveKind::AllReduce, 1, gpus, size,
                           added + time_alone(planner.plan(request, members), fabric), 0});
    }
  }
  return made;
}

const FittedNumber& number(const CollectiveFit& fit, const std::string& key) {
  return *std::ranges::find(fit.numbers, key, &FittedNumber::key);
}

TEST(CollectiveFit, FindsTheProfileThatMadeTheMeasurements) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  const CollectiveProfile start = shipped("dgx_a100");
  CollectiveProfile truth = start;
  truth.ring.simple->max_bus_bandwidth = 225_GBps;
  truth.ring.ll128->nvlink = 4_us;
  const CollectiveFit fit = fit_collectives(measurements_of(fabric, truth, 5_us), fabric, start, {4, {3}});
  EXPECT_NEAR(*fit.profile.ring.simple->max_bus_bandwidth / 1_GBps, 225, 4);
  EXPECT_NEAR(fit.profile.ring.ll128->nvlink / 1_us, 4, 0.5);
  for (const FittedRow& row : fit.rows) {  // also the sizes and the group of 3 that it did not see
    const CollectiveMeasurements made = measurements_of(fabric, truth, 5_us);
    EXPECT_NEAR(row.predicted / made.rows[row.measurement].time, 1, 0.06) << row.measurement;
  }
}

/// All-gathers and all-to-alls of @p nodes nodes of four, on a machine that sends between them as @p profile
/// says.
CollectiveMeasurements measured_between(const Fabric& fabric, const CollectiveProfile& profile, int nodes) {
  const CollectivePlanner planner{fabric, {profile, {}, {}}};
  const std::vector<VertexId> members{fabric.gpus().begin(), fabric.gpus().begin() + 4 * nodes};
  CollectiveMeasurements made{{"made up"}, {}};
  for (const CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::AllToAll}) {
    for (Bytes size = 64_KiB; size <= 1_GiB; size = 2.0 * size) {
      const CollectivePlan plan = planner.plan({.kind = kind, .size = size}, members);
      made.rows.push_back({kind, nodes, 4, size, 3_us + time_alone(plan, fabric), 0});
    }
  }
  return made;
}

TEST(CollectiveFit, TwoNodesTellHowEightSend) {
  // A machine whose proxies take longer than its fabric says: fitted on two nodes, eight are met.
  const Fabric fabric = read_cluster("polaris").fabric();
  const CollectiveProfile start = shipped("dgx_a100");
  CollectiveProfile truth = start;
  truth.between_nodes = *fabric.network();
  truth.between_nodes->handshake = 40_us;
  truth.between_nodes->message = 9_us;
  truth.link_efficiency.network = 0.8;
  const CollectiveMeasurements made = measured_between(fabric, truth, 2);
  const CollectiveFit fit = fit_collectives(made, fabric, start, {4, {}});
  ASSERT_TRUE(fit.profile.between_nodes);
  EXPECT_TRUE(number(fit, "between_nodes.handshake").moved);
  const CollectivePlanner fitted{fabric, {fit.profile, {}, {}}}, named{fabric, {start, {}, {}}};
  for (const CollectiveMeasurement& row : measured_between(fabric, truth, 8).rows) {
    const CollectiveRequest request{.kind = row.kind, .size = row.size};
    const auto off = [&](const CollectivePlanner& planner) {
      return std::abs(std::log((3_us + time_alone(planner.plan(request, fabric.gpus()), fabric)) / row.time));
    };
    EXPECT_LT(off(fitted), 0.15) << to_string(row.size);
    if (row.size >= 4_MiB) {
      EXPECT_LT(off(fitted), off(named)) << to_string(row.size);
    }
  }
}

TEST(CollectiveFit, WhatNothingMeasuredDependsOnStays) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  const CollectiveProfile start = shipped("dgx_a100");
  const CollectiveFit fit = fit_collectives(measurements_of(fabric, start, 2_us), fabric, start, {0, {}});
  EXPECT_FALSE(number(fit, "direct.Simple.max_bus_bandwidth").moved);
  EXPECT_FALSE(number(fit, "ring.Simple.network").moved);
  EXPECT_EQ(fit.profile.tree.simple->nvlink, start.tree.simple->nvlink);
}

TEST(CollectiveFit, TellsWhatIsRightFromWhatNothingDependsOn) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  const CollectiveProfile start = shipped("dgx_a100");
  const CollectiveFit fit = fit_collectives(measurements_of(fabric, start, 3_us), fabric, start, {});
  EXPECT_FALSE(number(fit, "ring.Simple.max_bus_bandwidth").moved);
  EXPECT_TRUE(number(fit, "ring.Simple.max_bus_bandwidth").matters);
  EXPECT_FALSE(number(fit, "direct.Simple.base").matters);  // of all-to-alls
}

TEST(CollectiveFit, HoldsOutSizesAndGroups) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  const CollectiveMeasurements made = measurements_of(fabric, shipped("dgx_a100"), 2_us);
  const CollectiveFit fit = fit_collectives(made, fabric, shipped("dgx_a100"), {0, {3}});
  for (const FittedRow& row : fit.rows) {
    EXPECT_EQ(row.held_out, made.rows[row.measurement].gpus_per_node == 3);
  }
  EXPECT_THAT(collective_fit_text(made, fit), HasSubstr("all_reduce, 1 x 3"));
  EXPECT_THAT(collective_residuals_csv(made, fit), HasSubstr("held_out"));
}

// nccl-tests prints one size for each operation and type: all of them are held out, or none.
TEST(CollectiveFit, RowsOfOneSizeAreHeldOutTogether) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  CollectiveMeasurements made = measurements_of(fabric, shipped("dgx_a100"), 5_us);
  const CollectiveMeasurements once = made;
  for (int again = 0; again < 3; ++again) {
    made.rows.insert(made.rows.end(), once.rows.begin(), once.rows.end());
  }
  const CollectiveFit fit = fit_collectives(made, fabric, shipped("dgx_a100"), {4, {}});
  std::map<std::pair<int, double>, std::set<bool>> held_out;
  for (const FittedRow& row : fit.rows) {
    const CollectiveMeasurement& of = made.rows[row.measurement];
    held_out[{of.gpus_per_node, of.size / 1_B}].insert(row.held_out);
  }
  std::size_t sizes_held_out = 0;
  for (const auto& [size, either] : held_out) {
    EXPECT_EQ(either.size(), 1U) << size.first << " GPUs, " << size.second << " bytes";
    sizes_held_out += *either.begin() ? 1 : 0;
  }
  EXPECT_EQ(sizes_held_out, 4U * 3U);  // of the 15 sizes of each group each fourth
}

TEST(CollectiveFit, SaysWhatKeepsAllFromIt) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  CollectiveMeasurements made = measurements_of(fabric, shipped("dgx_a100"), 2_us);
  const auto complaint = [&](const HeldOut& held_out) {
    try {
      (void)fit_collectives(made, fabric, shipped("dgx_a100"), held_out);
    } catch (const std::invalid_argument& problem) {
      return std::string{problem.what()};
    }
    return std::string{"accepted"};
  };
  EXPECT_EQ(
      complaint({0, {2, 3, 4, 8, 16}}),
      "all 60 measurements are held out, none is left to fit to: those of groups of 2, 3, 4, 8 GPUs are, "
      "and there are no others");
  EXPECT_EQ(complaint({1, {}}), "all 60 measurements are held out, none is left to fit to: each size is");
  made.rows.clear();
  EXPECT_EQ(complaint({4, {}}), "there is no measurement to fit to");
}

TEST(CollectiveFit, ASoundOneLeavesNoDoubt) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  const CollectiveMeasurements made = measurements_of(fabric, shipped("dgx_a100"), 2_us);
  EXPECT_THAT(fit_doubts(made, fit_collectives(made, fabric, shipped("dgx_a100"), {4, {}})), IsEmpty());
}

/// One group whose times are no collective's among many that are sound: it is lost in the mean of all.
TEST(CollectiveFit, AGroupThatIsMissedIsNamed) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  CollectiveMeasurements made = measurements_of(fabric, shipped("dgx_a100"), 2_us);
  for (CollectiveMeasurement& row : made.rows) {
    row.time = row.gpus_per_node == 3 ? 3.0 * row.time : row.time;
  }
  EXPECT_THAT(fit_doubts(made, fit_collectives(made, fabric, shipped("dgx_a100"), {4, {3}})),
              ElementsAre(AllOf(HasSubstr("all_reduce, 1 x 3 by 67 %"), Not(HasSubstr("1 x 4")))));
}

TEST(CollectiveFit, LargeMessagesThatAreMissedAreNamed) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  const CollectiveProfile start = shipped("dgx_a100");
  CollectiveMeasurements measurements = measurements_of(fabric, start, 10_us);
  const CollectiveFit fit = fit_collectives(measurements, fabric, start, {});
  for (CollectiveMeasurement& row : measurements.rows) {
    row.time = row.gpus_per_node == 8 && row.size >= 64_MiB ? row.time / 0.8 : row.time;
  }
  // Five of 15 messages of 8 GPUs are missed by 20 %: no more than 7 % on average of all.
  EXPECT_THAT(fit_doubts(measurements, fit),
              ElementsAre(AllOf(HasSubstr("at least 64 MiB"), HasSubstr("all_reduce, 1 x 8 by 20 %"))));
}

TEST(CollectiveFit, ANumberThatWentFurtherThanMachinesDifferIsNamed) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  CollectiveProfile truth = shipped("dgx_a100");
  truth.ring.ll128->base = 20.0 * truth.ring.ll128->base;
  truth.ring.simple->base = 20.0 * truth.ring.simple->base;
  truth.ring.ll->base = 20.0 * truth.ring.ll->base;
  const CollectiveMeasurements made = measurements_of(fabric, truth, 2_us);
  const auto doubts = fit_doubts(made, fit_collectives(made, fabric, shipped("dgx_a100"), {4, {}}));
  EXPECT_THAT(doubts, Contains(AllOf(HasSubstr(".base went from "), HasSubstr("is within 8.2"))));
}

TEST(CollectiveFit, ALaunchThatIsNoneIsDoubted) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  const CollectiveMeasurements made = measurements_of(fabric, shipped("dgx_a100"), 250_us);
  EXPECT_THAT(fit_doubts(made, fit_collectives(made, fabric, shipped("dgx_a100"), {4, {}})),
              ElementsAre(AllOf(HasSubstr("us longer than the profile says"), HasSubstr("up to 100 us"))));
}

TEST(FittedProfile, ARangeNamesGroupsAndSizes) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  const CollectiveProfile start = shipped("dgx_a100");
  CollectiveProfile truth = start;
  truth.ring.simple->max_bus_bandwidth = 225_GBps;
  const CollectiveMeasurements made = measurements_of(fabric, truth, 5_us);
  const CollectiveFit fit = fit_collectives(made, fabric, start, {4, {}});
  const std::string text = fitted_profile_yaml(
      made, fit,
      {"mine", "a/x.log, b/x.log", "dgx_a100", ConfigPath::standard().find("profiles", "dgx_a100")});
  EXPECT_THAT(text, HasSubstr("Fitted by lockstep calibrate to a/x.log, b/x.log on dgx_a100"));
  const auto profile = read_text<CollectiveProfile>(text, "mine.yaml");
  const Evidence& evidence = evidence_for(profile.provenance, "ring.Simple.max_bus_bandwidth");
  EXPECT_EQ(evidence.is, Provenance::Fitted);
  EXPECT_EQ(evidence_for(profile.provenance, "hierarchical").source, "dgx_a100's: ring's");
  EXPECT_THAT(evidence.range, HasSubstr("all_reduce on 1 x 2, 1 x 3, 1 x 4, 1 x 8 GPUs, "));
  EXPECT_THAT(evidence.range, HasSubstr(" to 1 GiB; error of "));
}

// Times that do not grow with the size are the launches'; only 512 KiB says something of the profile.
TEST(FittedProfile, WhatNoHeldOutRowDependsOnIsDerived) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  CollectiveMeasurements made{{"made up"}, {}};
  for (Bytes size = 1_KiB; size <= 512_KiB; size = 2.0 * size) {
    made.rows.push_back({CollectiveKind::AllReduce, 1, 8, size, 50_us, 0});
  }
  const CollectiveFit fit = fit_collectives(made, fabric, shipped("dgx_a100"), {4, {}});
  const auto base = std::ranges::find(fit.numbers, "ring.LL.base", &FittedNumber::key);
  ASSERT_TRUE(base != fit.numbers.end() && base->moved);
  const auto profile = read_text<CollectiveProfile>(
      fitted_profile_yaml(made, fit,
                          {"mine", "x.log", "dgx_a100", ConfigPath::standard().find("profiles", "dgx_a100")}),
      "mine.yaml");
  const Evidence& evidence = evidence_for(profile.provenance, "ring.LL.base");
  EXPECT_EQ(evidence.is, Provenance::Derived);
  EXPECT_EQ(evidence.error, std::nullopt);
  EXPECT_THAT(evidence.source, HasSubstr("no row that was held out depends on"));
}

// The error is that of the collective without what launching added, and of few rows not what it happens to
// be.
TEST(FittedProfile, ErrorsAreOfThePlanAndFewRowsWidenThem) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  CollectiveFit fit;
  const CollectiveMeasurements made{{"x"}, {{CollectiveKind::AllReduce, 1, 8, 1_MiB, 100_us, 0}}};
  fit.rows = {{0, 104_us, true}};
  fit.runs = {{64_us, 0_us}};
  FittedNumber number;
  number.rows = {0};
  EXPECT_THAT(plan_errors(made, fit, number), ElementsAre(DoubleNear(0.1, 1e-9)));
  fit.rows.front().held_out = false;
  EXPECT_THAT(plan_errors(made, fit, number), IsEmpty());

  CollectiveProfile truth = shipped("dgx_a100");
  truth.ring.simple->max_bus_bandwidth = 225_GBps;
  const CollectiveMeasurements exact = measurements_of(fabric, truth, 5_us);
  const auto profile = read_text<CollectiveProfile>(
      fitted_profile_yaml(exact, fit_collectives(exact, fabric, shipped("dgx_a100"), {4, {}}),
                          {"mine", "x.log", "dgx_a100", ConfigPath::standard().find("profiles", "dgx_a100")}),
      "mine.yaml");
  const Evidence& rate = evidence_for(profile.provenance, "ring.Simple.max_bus_bandwidth");
  EXPECT_EQ(rate.is, Provenance::Fitted);
  EXPECT_GT(rate.error.value(), 0.002);  // 10 % of one row beside the 20 or so that fit
  EXPECT_LT(rate.error.value(), 0.02);
}

TEST(CollectiveFit, GroupsThatTheClusterDoesNotHaveAreRefused) {
  const Fabric fabric = read_cluster("dgx_a100").fabric();
  const CollectiveMeasurements made{{"made up"}, {{CollectiveKind::AllReduce, 2, 8, 1_MiB, 100_us, 0}}};
  EXPECT_THROW((void)fit_collectives(made, fabric, shipped("dgx_a100"), {}), std::invalid_argument);
}

TEST(CollectiveMeasurements, SurviveTheirTable) {
  const CollectiveMeasurements made{{"a, b", "c"},
                                    {{CollectiveKind::AllToAll, 2, 8, 1_MiB, 100_us, 0},
                                     {CollectiveKind::ReduceScatter, 1, 4, 3_MiB, 12.5_us, 1}}};
  const test::ScratchFolder folder;
  folder.write("t.csv", collective_csv(made));
  const CollectiveMeasurements read = read_collective_csv({folder / "t.csv"});
  ASSERT_EQ(read.rows.size(), 2U);
  EXPECT_EQ(read.runs, made.runs);
  EXPECT_EQ(read.rows[1].kind, CollectiveKind::ReduceScatter);
  EXPECT_EQ(read.rows[1].size, 3_MiB);
  EXPECT_DOUBLE_EQ(read.rows[1].time.in_base_units(), 12.5e-6);
  EXPECT_EQ(read.rows[0].nodes, 2);
}

TEST(CollectiveMeasurements, AreReadFromOurOwnMeasuringProgram) {
  const test::ScratchFolder folder;
  folder.write("collective.csv",
               "# gpus: 8\noperation,ranks,in_place,bytes,repeats,median_us\nall_reduce,4,0,1024,20,9\n"
               "all_reduce,4,1,1024,20,8\nsend_recv,4,0,1024,20,8\nall_to_all,8,0,2048,20,30\n");
  const CollectiveMeasurements read = read_collective_csv({folder / "collective.csv"});
  ASSERT_EQ(read.rows.size(), 2U);
  EXPECT_EQ(read.rows[0].gpus_per_node, 4);
  EXPECT_EQ(read.rows[1].kind, CollectiveKind::AllToAll);
  EXPECT_EQ(read.rows[1].nodes, 1);
  EXPECT_EQ(read.rows[1].gpus_per_node, 8);
}

TEST(CollectiveMeasurements, BadCellsAreNamedWithTheirLine) {
  const auto complaint_of = [](const std::string& row) -> std::string {
    const test::ScratchFolder folder;
    folder.write("t.csv", "collective,nodes,gpus_per_node,bytes,time_us,run\n" + row + "\n");
    try {
      (void)read_collective_csv({folder / "t.csv"});
    } catch (const InputError& problem) {
      return problem.what();
    }
    return {};
  };
  EXPECT_THAT(complaint_of("all_reduce,1,8,1024,-3,x"),
              HasSubstr("t.csv:2:1: time_us: -3 is not greater than 0"));
  EXPECT_THAT(complaint_of("allreduce,1,8,1024,3,x"), HasSubstr("did you mean 'all_reduce'?"));
  EXPECT_THAT(complaint_of("collective,nodes,gpus_per_node,bytes,time_us,run"), HasSubstr("a second header"));
}

}  // namespace
}  // namespace lockstep
