#include "search/embedding/searching.hpp"
#include "app/search/search_report.hpp"

#include <gmock/gmock.h>

#include "search/embedding/refinement.hpp"
#include "tests/support/small_dlrm.hpp"

namespace lockstep {
namespace {

/// Twelve tables on four V100.
ShardingProblem problem_of_twelve() {
  return test::problem_of({.tables =
                               "{ rows: [100000, 70000, 40000, 900], dimension: 128, pooling_factor: 40 }, "
                               "{ rows: [50000, 900, 400, 77000], dimension: 32, pooling_factor: 90 }, "
                               "{ rows: [100, 100, 9000, 12000], dimension: 16, pooling_factor: 2 }",
                           .parallelism = "{ ranks: 4 }",
                           .global_batch = 8192});
}

SearchResult searched(const ShardingProblem& problem, const SearchLimits& limits) {
  BestSoFar best;
  const Progress progress{true};
  Searching searching{problem, progress, best, limits, 1};
  searching.keep_some_for_refining();
  searching.run(sharding::method_called("size_greedy"));
  searching.run(sharding::method_called("lockstep"));
  searching.refine();
  return std::move(searching).result();
}

/// The effort so far ends a search, on every machine at the same place.
TEST(Searching, EndsByEffortAndThenIsTheSameAgain) {
  const ShardingProblem problem = problem_of_twelve();
  const SearchResult once = searched(problem, {.effort = 0.02, .budget = {}});
  const SearchResult again = searched(problem, {.effort = 0.02, .budget = {}});
  EXPECT_TRUE(once.end.effort);
  EXPECT_FALSE(once.end.time);
  ASSERT_EQ(once.candidates.size(), again.candidates.size());
  for (std::size_t i = 0; i < once.candidates.size(); ++i) {
    EXPECT_EQ(once.candidates[i].name, again.candidates[i].name);
    EXPECT_EQ(once.candidates[i].step, again.candidates[i].step);
  }
  EXPECT_GT(searched(problem, {.effort = 0.04, .budget = {}}).candidates.size(), once.candidates.size());
  EXPECT_THAT(search_text(problem, once, *once.best_of("lockstep")),
              ::testing::HasSubstr("a larger --effort"));
}

/// It ends by its effort at the same place, too.
TEST(Searching, FindsTheSameWithAnyNumberOfThreads) {
  const ShardingProblem problem = problem_of_twelve();
  for (const double effort : {0.01, 0.03}) {
    const SearchResult alone = searched(problem, {.effort = effort, .budget = {}, .jobs = 1});
    const SearchResult four = searched(problem, {.effort = effort, .budget = {}, .jobs = 4});
    EXPECT_EQ(alone.end.effort, four.end.effort);
    ASSERT_EQ(alone.candidates.size(), four.candidates.size());
    for (std::size_t i = 0; i < alone.candidates.size(); ++i) {
      const Candidate &one = alone.candidates[i], &other = four.candidates[i];
      EXPECT_EQ(one.name, other.name);
      EXPECT_EQ(one.step, other.step);
      EXPECT_EQ(one.questions, other.questions);
      EXPECT_EQ(plan_text(one.plan, ""), plan_text(other.plan, ""));
    }
  }
}

TEST(Searching, SaysThatTimeEndedIt) {
  const ShardingProblem problem = problem_of_twelve();
  const SearchResult result = searched(problem, {.effort = 1, .budget = Seconds{1e-9}});
  EXPECT_TRUE(result.end.time);
  ASSERT_NE(result.best_of("lockstep"), nullptr);  // of the first rule
  EXPECT_THAT(search_text(problem, result, *result.best_of("lockstep")),
              ::testing::HasSubstr("time was up (--budget)"));
}

/// A rule that finds nothing looks no further with more time.
TEST(Searching, TellsWhatFitsFromWhatIsNotFoundInTime) {
  const ShardingProblem problem =
      test::problem_of({.parallelism = "{ ranks: 2, embedding: { memory_share: 0.0008 } }"});
  BestSoFar best;
  const Progress progress{true};
  Searching searching{problem, progress, best, {.effort = 1, .budget = Seconds{1e-9}}, 1};
  searching.run(sharding::method_called("size_greedy"), true);
  searching.run(sharding::method_called("neuroshard"), true);
  const SearchResult result = std::move(searching).result();
  EXPECT_EQ(result.why_none("size_greedy"), "none fits");
  EXPECT_EQ(result.why_none("neuroshard"), "none found before the time was up");
}

/// Ctrl-C within a refinement loses none of it.
TEST(Searching, OffersWhatARefinementFindsAtOnce) {
  const ShardingProblem problem = problem_of_twelve();
  StepSimulator simulator{problem};
  std::vector<Candidate> start{candidate_by(sharding::method_called("chunks"), problem, {}).value()};
  start.front().step = simulator.step_time(start.front().plan);
  std::vector<Candidate> found;
  RefinementOptions options;
  options.simulations = 30;
  options.found = [&](const Candidate& candidate) { found.push_back(candidate); };
  const std::vector<Candidate> refined = fastest_refined(problem, simulator, start, options);
  ASSERT_GT(found.size(), 3U);
  EXPECT_EQ(found.front().name, "lockstep, refined from chunks");
  EXPECT_EQ(found.front().step, problem.step_time(found.front().plan));
  EXPECT_EQ(found.back().step, refined.back().step);
}

}  // namespace
}  // namespace lockstep
