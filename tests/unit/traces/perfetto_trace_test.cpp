#include "traces/perfetto_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <numeric>

#include "small_job.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;

TEST(ProtoMessage, IsWrittenAsProtobufSays) {
  // From the encoding guide: field 1, varint 150 is 08 96 01; field 2, "testing" is 12 07 and the text.
  EXPECT_EQ(ProtoMessage{}.number(1, 150).bytes(), "\x08\x96\x01");
  EXPECT_EQ(ProtoMessage{}.text(2, "testing").bytes(), "\x12\x07testing");
  EXPECT_EQ(ProtoMessage{}.fixed(1, 1).bytes(), std::string("\x09\x01\0\0\0\0\0\0\0", 9));
}

/// Fields of a message in their order; numbers, or bytes of what has a length.
struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string bytes{};
};

class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_{std::move(bytes)} {}

  std::vector<Field> fields() {
    std::vector<Field> fields;
    while (at_ < bytes_.size()) {
      const std::uint64_t key = varint();
      Field field{static_cast<std::uint32_t>(key >> 3U)};
      switch (key & 7U) {
        case 0:
          field.value = varint();
          break;
        case 1:
          std::memcpy(&field.value, bytes_.data() + at_, sizeof field.value);  // little-endian, as protobuf
          at_ += 8;
          break;
        case 2: {
          const std::uint64_t size = varint();
          field.bytes = bytes_.substr(at_, size);
          at_ += size;
          break;
        }
        default:
          ADD_FAILURE() << "wire type " << (key & 7U);
          return fields;
      }
      fields.push_back(std::move(field));
    }
    return fields;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) {
        break;
      }
    }
    return value;
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

/// The first field of a number; an empty one where there is none.
Field first(const std::string& message, std::uint32_t number) {
  for (Field& field : Reader{message}.fields()) {
    if (field.number == number) {
      return field;
    }
  }
  return {};
}

struct Event {
  std::uint64_t timestamp = 0, type = 0, track = 0;
  std::string name{};
  double count = 0;  ///< of a counter
};

constexpr std::uint64_t kCounts = 4;  // TrackEvent::TYPE_COUNTER

class PerfettoTrace : public ::testing::Test {
 protected:
  void write(const PerfettoTraceOptions& options, const std::vector<PathPiece>& path = {}) {
    const Job job = small_job();
    PerfettoTraceWriter writer{job, two_gpus(), options};
    writer.write(spans_of_small_job(2));
    writer.finish({.path = path, .links = links_});
    std::map<std::uint64_t, std::string> names;
    for (const Field& packet : Reader{gunzip(options.path)}.fields()) {
      EXPECT_EQ(packet.number, 1);
      EXPECT_EQ(first(packet.bytes, 10).value, 1);
      const std::string name = first(first(packet.bytes, 12).bytes, 2).bytes;
      if (!name.empty()) {
        names[first(name, 1).value] = first(name, 2).bytes;
      }
      if (const std::string track = first(packet.bytes, 60).bytes; !track.empty()) {
        ++tracks_;
      }
      if (const std::string event = first(packet.bytes, 11).bytes; !event.empty()) {
        events_.push_back({first(packet.bytes, 8).value, first(event, 9).value, first(event, 11).value,
                           names[first(event, 10).value], std::bit_cast<double>(first(event, 44).value)});
      }
    }
  }

  /// Ends and begins of each track balance at every moment, and time does not go back.
  void expect_nesting() const {
    std::map<std::uint64_t, int> open;
    std::map<std::uint64_t, std::uint64_t> last;
    for (const Event& event : events_) {
      if (event.type == kCounts) {
        continue;
      }
      EXPECT_GE(event.timestamp, last[event.track]);
      last[event.track] = event.timestamp;
      open[event.track] += event.type == 1 ? 1 : -1;
      EXPECT_GE(open[event.track], 0);
    }
    for (const auto& [track, count] : open) {
      EXPECT_EQ(count, 0) << track;
    }
  }

  [[nodiscard]] std::size_t count(const std::string& name) const {
    return static_cast<std::size_t>(std::count_if(events_.begin(), events_.end(),
                                                  [&](const Event& event) { return event.name == name; }));
  }

  [[nodiscard]] PerfettoTraceOptions options() const {
    return {directory_.path() / "timeline.perfetto-trace", {0, 1}, 0};
  }

  TemporaryDirectory directory_;
  std::vector<LinkTrack> links_;
  std::vector<Event> events_;
  std::size_t tracks_ = 0;
};

TEST_F(PerfettoTrace, HasEachSliceOnItsTrack) {
  write(options());
  expect_nesting();
  // Of each rank: host, GPU, two threads, two streams.
  EXPECT_EQ(tracks_, 12);
  EXPECT_EQ(count("## forward ##"), 4);      // 2 ranks, 2 steps
  EXPECT_EQ(count("cudaLaunchKernel"), 12);  // two GEMMs and the all-reduce
  EXPECT_EQ(count("waiting"), 2);            // rank 0 waits for rank 1
}

TEST_F(PerfettoTrace, LeavesOutRanksAndSteps) {
  PerfettoTraceOptions part = options();
  part.ranks = {1};
  part.first_step = 1;
  write(part);
  expect_nesting();
  EXPECT_EQ(tracks_, 6);
  EXPECT_EQ(count("## forward ##"), 1);
}

TEST_F(PerfettoTrace, ShowsTheCriticalPath) {
  write(options(), {{0, true, 0, 0, 1e-6}, {1, false, 0, 1e-6, 2e-6}});
  expect_nesting();
  EXPECT_EQ(tracks_, 13);
  EXPECT_THAT((std::vector{events_[events_.size() - 4].timestamp, events_.back().timestamp}),
              ElementsAre(0, 2000));
}

TEST_F(PerfettoTrace, CountsWhatLinksCarry) {
  links_ = {{"a->b of 50 GB/s", {{1e-6, 12.5e9}, {3e-6, 0}}}};
  write(options());
  expect_nesting();
  EXPECT_EQ(tracks_, 14);  // the link's, and the one above it
  const Event& load = events_[events_.size() - 2];
  EXPECT_EQ(load.type, kCounts);
  EXPECT_EQ(load.timestamp, 1000);
  EXPECT_DOUBLE_EQ(load.count, 12.5);
  EXPECT_DOUBLE_EQ(events_.back().count, 0);
}

}  // namespace
}  // namespace lockstep::test
