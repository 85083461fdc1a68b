#include "app/sweep/sweep_place.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

namespace lockstep {
namespace {

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional{found->second};
  };
}

void expect_place(const SweepPlace& place, int rank, int size, bool waits) {
  EXPECT_EQ(place.rank, rank);
  EXPECT_EQ(place.size, size);
  EXPECT_EQ(place.waits, waits);
}

TEST(SweepPlace, IsAloneUnlessALauncherSaysOtherwise) {
  expect_place(sweep_place("", variables({})), 0, 1, true);
  expect_place(sweep_place("", variables({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}})), 3,
               4, false);
  expect_place(sweep_place("", variables({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}})), 0, 2, true);
  expect_place(sweep_place("", variables({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}})), 1, 2, false);
}

TEST(SweepPlace, DoesNotBelieveHalfALauncher) {
  expect_place(sweep_place("", variables({{"PMI_RANK", "1"}})), 0, 1, true);
  expect_place(sweep_place("", variables({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "2"}})), 0, 1, true);
}

TEST(SweepPlace, AShardOfAJobArrayWaitsForNobody) {
  const Environment mpi = variables({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  expect_place(sweep_place("0/2", mpi), 0, 2, false);
  expect_place(sweep_place("1/2", mpi), 1, 2, false);
  for (const char* broken : {"2/2", "-1/2", "1", "1/", "/2", "a/b", "1/2/3"}) {
    EXPECT_THROW((void)sweep_place(broken, mpi), std::invalid_argument) << broken;
  }
}

TEST(SweepPlace, OneOfManyTakesTheCoresThatSlurmGivesIt) {
  const SweepPlace one_of_two{1, 2, false};
  EXPECT_EQ(usual_jobs(one_of_two, variables({})), 1);
  EXPECT_EQ(usual_jobs(one_of_two, variables({{"SLURM_CPUS_PER_TASK", "8"}})), 8);
  EXPECT_GE(usual_jobs({}, variables({})), 1);
}

}  // namespace
}  // namespace lockstep
