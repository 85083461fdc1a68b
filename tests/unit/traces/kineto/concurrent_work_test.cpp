#include "traces/kineto/concurrent_work.hpp"

#include <gmock/gmock.h>

namespace lockstep::kineto {
namespace {

using ::testing::ElementsAre;

Work work(Nanoseconds start, Nanoseconds end, std::int32_t stream, std::int32_t device = 0) {
  return {.start = start, .end = end, .name = 0, .stream = stream, .device = device};
}

TEST(ConcurrentWork, IsThatOfAnotherStreamOfTheDevice) {
  RecordedTrace trace;
  trace.work = {work(0, 10, 7),   work(10, 20, 7),  work(20, 30, 7),  work(30, 40, 7),
                work(15, 32, 20), work(40, 50, 20), work(0, 50, 7, 1)};
  // 15 to 32 touches three of stream 7; what begins as another ends does not run beside it.
  EXPECT_THAT(runs_beside_others(trace), ElementsAre(false, true, true, true, true, false, false));
}

// A long collective stays in mind behind shorter kernels.
TEST(ConcurrentWork, IsFoundBehindShorterWork) {
  RecordedTrace trace;
  trace.work = {work(5, 6, 7), work(70, 80, 7), work(0, 100, 20), work(60, 61, 21)};
  EXPECT_THAT(runs_beside_others(trace), ElementsAre(true, true, true, true));
}

TEST(ConcurrentWork, IsNotOfTheSameStream) {
  RecordedTrace trace;
  trace.work = {work(0, 10, 7), work(9, 20, 7), work(15, 15, 20)};  // the next may be launched early
  EXPECT_THAT(runs_beside_others(trace), ElementsAre(false, false, false));
}

}  // namespace
}  // namespace lockstep::kineto
