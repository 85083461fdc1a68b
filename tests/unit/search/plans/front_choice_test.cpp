#include "search/plans/front_choice.hpp"

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FrontPlan simulated(double step, double memory, int gpus = 8) {
  return {{step, memory, gpus}, true};
}
FrontPlan estimated(double step, double memory, int gpus = 8) {
  return {{step, memory, gpus}, false};
}

/// Between 1 and 100 GB 9 is the middle by ratio; then 1 to 9 is left, whose middle 3 is nearer than 20 is to
/// 100 and 9. By number the dense end would come first.
TEST(NextOfFront, FillsTheWidestGapOfMemoryFirst) {
  const std::vector<FrontPlan> plans{simulated(1, 100), estimated(2, 20),   estimated(3, 9), estimated(4, 3),
                                     estimated(5, 1.1), estimated(6, 1.04), simulated(7, 1)};
  EXPECT_THAT(next_of_front(plans, 1), ElementsAre(2));
  EXPECT_THAT(next_of_front(plans, 3), ElementsAre(2, 3, 1));
}

/// Memory within 5 % of what is simulated is not worth a simulation, unless its time is apart.
TEST(NextOfFront, EndsWhereAllIsNear) {
  EXPECT_THAT(next_of_front(std::vector{simulated(1, 10), estimated(1.04, 9.7), simulated(1.05, 9.6)}, 4),
              IsEmpty());
  EXPECT_THAT(next_of_front(std::vector{simulated(1, 10), estimated(2, 9.7), simulated(4, 9.6)}, 4),
              ElementsAre(1));
}

/// The second plan was simulated to be slower than the third is estimated: it is no longer on the front, and
/// what seems to be better comes before any gap.
TEST(NextOfFront, FirstLooksAtWhatSeemsBetterThanWhatIsShown) {
  const std::vector<FrontPlan> plans{simulated(1, 100), simulated(3, 50), estimated(2.9, 49), estimated(4, 5),
                                     simulated(7, 1)};
  EXPECT_THAT(next_of_front(plans, 1), ElementsAre(2));
  EXPECT_THAT(next_of_front(plans, 2), ElementsAre(2, 3));
}

/// A plan that a simulation has shown to be beaten hides nothing, and gaps are those of one number of GPUs.
TEST(NextOfFront, KnowsWhatIsBeatenAndGpusApart) {
  EXPECT_THAT(next_of_front(std::vector{simulated(1, 10), simulated(5, 9), estimated(4, 8)}, 4),
              ElementsAre(2));
  EXPECT_THAT(next_of_front(std::vector{simulated(1, 10), estimated(5, 30)}, 4), IsEmpty());
  EXPECT_THAT(next_of_front(std::vector{simulated(1, 10), estimated(2, 10, 4)}, 4), ElementsAre(1));
}

}  // namespace
}  // namespace lockstep
