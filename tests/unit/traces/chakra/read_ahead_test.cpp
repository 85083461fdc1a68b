#include "traces/chakra/read_ahead.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/chakra_trace.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep::chakra {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ReadAheadTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::uint64_t kFiles = 40;

  /// Traces whose names of nodes and sizes of collectives come in another order in each.
  void SetUp() override {
    for (std::uint64_t file = 0; file < kFiles; ++file) {
      testing::EtWriter trace;
      auto before = trace.compute(fmt::format("{}", names_[file % names_.size()]), {}, file + 1);
      before = trace.compute(fmt::format("{}", names_[(file + 3) % names_.size()]), {before}, 7);
      trace.all_reduce({before}, 1024 + file % 3);
      folder_.write(fmt::format("{}.et", file), trace.text());
      files_.push_back(folder_ / fmt::format("{}.et", file));
    }
  }

  const std::vector<std::string> names_{"a", "b", "c", "d", "e", "f", "g"};
  test::ScratchFolder folder_;
  std::vector<std::filesystem::path> files_;
};

TEST_P(ReadAheadTest, GivesTheSameNumbersAsReadingOneAfterTheOther) {
  TraceTables expected_tables;
  TraceGraph expected;
  TraceTables tables;
  ReadAhead traces{files_, GetParam()};
  for (const auto& file : files_) {
    read_graph(file, expected_tables, expected);
    const TraceGraph& graph = traces.next(tables);
    EXPECT_TRUE(graph.same_shape(expected)) << file;
    EXPECT_EQ(graph.microseconds, expected.microseconds);
  }
  ASSERT_EQ(tables.kinds(), expected_tables.kinds());
  for (std::uint32_t kind = 0; kind < tables.kinds(); ++kind) {
    EXPECT_EQ(tables.kind_name(kind), expected_tables.kind_name(kind));
  }
}

TEST_P(ReadAheadTest, TheFirstBadFileIsReportedInItsTurn) {
  folder_.write("17.et", "no trace");
  folder_.write("18.et", "nor this");
  TraceTables tables;
  ReadAhead traces{files_, GetParam()};
  for (int file = 0; file < 17; ++file) {
    traces.next(tables);
  }
  EXPECT_THAT([&] { traces.next(tables); }, ThrowsMessage<InputError>(HasSubstr("17.et")));
}

TEST_P(ReadAheadTest, NobodyHasToTakeAll) {
  TraceTables tables;
  ReadAhead traces{files_, GetParam()};
  traces.next(tables);
}

INSTANTIATE_TEST_SUITE_P(Threads, ReadAheadTest, ::testing::Values(1, 2, 3, 64));

}  // namespace
}  // namespace lockstep::chakra
