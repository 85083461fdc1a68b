#include "search/sharding/drawn_tasks.hpp"

#include <bit>
#include <random>

namespace lockstep::sharding {
namespace {

/// numpy.random.RandomState.randint.
class LegacyNumpy {
 public:
  explicit LegacyNumpy(std::uint32_t seed) : bits_{seed} {}

  std::uint32_t below(std::uint32_t count) {
    if (count <= 1) {
      return 0;  // NumPy draws nothing then
    }
    const std::uint32_t most = count - 1;
    const std::uint32_t mask = std::bit_ceil(count) - 1;
    std::uint32_t drawn = 0;
    do {
      drawn = static_cast<std::uint32_t>(bits_()) & mask;
    } while (drawn > most);
    return drawn;
  }

 private:
  std::mt19937 bits_;
};

std::vector<std::int64_t> dimensions_of(const TaskProtocol& protocol) {
  std::vector<std::int64_t> dimensions;
  for (std::int64_t dimension = protocol.widest; dimension % kColumnStep == 0; dimension /= 2) {
    dimensions.push_back(dimension);
  }
  return dimensions;
}

Task draw(LegacyNumpy& random, const TableSet& set, const TaskProtocol& protocol) {
  const std::vector<std::int64_t> dimensions = dimensions_of(protocol);
  const auto spread = static_cast<std::uint32_t>(protocol.most - protocol.fewest);
  std::size_t count = static_cast<std::size_t>(protocol.fewest) + random.below(spread);
  Task task;
  task.capacity.assign(protocol.devices, protocol.device_memory);
  task.batch = set.batch;
  for (;;) {
    task.tables.clear();
    for (std::size_t i = 0; i < count; ++i) {
      task.tables.push_back(set.tables[random.below(static_cast<std::uint32_t>(set.tables.size()))]);
    }
    Bytes all;
    for (std::uint32_t i = 0; i < count; ++i) {
      EmbeddingTable& table = task.tables[i].shape;
      table.dimension = dimensions[random.below(static_cast<std::uint32_t>(dimensions.size()))];
      all += task.size_of(i, table.dimension);
    }
    if (all <= protocol.most_memory) {
      return task;
    }
    if (protocol.redraws_count) {
      count = static_cast<std::size_t>(protocol.fewest) + random.below(spread);
    }
  }
}

}  // namespace

std::vector<Task> drawn_tasks(const TableSet& set, const TaskProtocol& protocol) {
  LegacyNumpy random{protocol.seed};
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < protocol.tasks; ++i) {
    tasks.push_back(draw(random, set, protocol));
  }
  return tasks;
}

}  // namespace lockstep::sharding
