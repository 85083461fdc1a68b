#include "search/sharding/drawn_tasks.hpp"

#include <gmock/gmock.h>

namespace lockstep::sharding {
namespace {

TableSet numbered_tables(std::int64_t count) {
  TableSet set{65536, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    set.tables.push_back({.shape = {.rows = i + 1}, .reuse = {}});
  }
  return set;
}

TEST(DrawnTasks, AreThoseOfNumPy) {
  // numpy.random.seed(0); numpy.random.randint(10, size=10) -> 5 0 3 3 7 9 3 5 2 4; ranges of one number
  // (tables, dimensions) draw nothing.
  const std::vector<Task> tasks =
      drawn_tasks(numbered_tables(10), {.widest = 4, .fewest = 10, .most = 11, .tasks = 1, .seed = 0});
  std::vector<std::int64_t> drawn;
  for (const Table& table : tasks.at(0).tables) {
    drawn.push_back(table.shape.rows - 1);
  }
  EXPECT_THAT(drawn, ::testing::ElementsAre(5, 0, 3, 3, 7, 9, 3, 5, 2, 4));
}

TEST(DrawnTasks, KeepToTheirLimits) {
  TaskProtocol protocol;
  protocol.widest = 32;
  protocol.most_memory = Bytes{100'000};
  protocol.redraws_count = true;
  for (const Task& task : drawn_tasks(numbered_tables(200), protocol)) {
    EXPECT_GE(task.tables.size(), 10U);
    EXPECT_LT(task.tables.size(), 60U);
    Bytes all;
    for (std::size_t i = 0; i < task.tables.size(); ++i) {
      EXPECT_THAT(task.tables[i].shape.dimension, ::testing::AnyOf(4, 8, 16, 32));
      all += task.size_of(i, task.tables[i].shape.dimension);
    }
    EXPECT_LE(all, protocol.most_memory);
  }
}

}  // namespace
}  // namespace lockstep::sharding
