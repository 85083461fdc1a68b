// Timelines of a pipeline that are small enough to work out on paper.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"
#include "traces/pipeline/stragglers.hpp"

namespace lockstep::pipeline {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kLanes = 5;

/// Writes a timeline: microseconds, workers by stage and data rank.
class Recording {
 public:
  Recording(int stages, int data_ranks) {
    for (int stage = 0; stage < stages; ++stage) {
      for (int data = 0; data < data_ranks; ++data) {
        for (int lane = 0; lane < kLanes; ++lane) {
          const char* const names[kLanes] = {"compute", "pp-comm", "tp-comm", "dp-comm", "misc"};
          add(fmt::format(
              R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"PP rank {}, TP rank 0, {}"}}}})",
              data, stage * kLanes + lane, stage, names[lane]));
        }
      }
    }
  }
  Recording& span(int stage, int lane, const std::string& name, double start, double end, int data = 0) {
    add(fmt::format(R"({{"name":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"step":{}}}}})",
                    name, data, stage * kLanes + lane, start, end - start, step_));
    return *this;
  }
  Recording& step(int step) {
    step_ = step;
    return *this;
  }
  [[nodiscard]] std::string text() const { return "[" + events_ + "]"; }

 private:
  void add(const std::string& event) { events_ += (events_.empty() ? "" : ",\n") + event; }
  std::string events_;
  int step_ = 7;
};

class PipelineTimeline : public ::testing::Test {
 protected:
  Timeline read(const std::string& text) {
    folder_.write("timeline.json", text);
    return read_timeline((folder_.path() / "timeline.json").string());
  }
  std::string problem(const std::string& text) {
    try {
      const Timeline timeline = read(text);
      (void)Replay{timeline};
    } catch (const InputError& error) {
      return error.what();
    }
    return "no problem";
  }
  test::ScratchFolder folder_;
};

bool all(const Operation&, const Worker&) {
  return true;
}
bool nothing(const Operation&, const Worker&) {
  return false;
}

// Two stages, one micro-batch. Stage 0: forward 100, send 10, then waits; stage 1: receives, forward 100
// after a delay of 5, backward 300, sends 10; stage 0: backward 200.
Recording one_micro_batch() {
  Recording recording{2, 1};
  recording.span(0, 0, "forward-compute", 1000, 1100)
      .span(0, 1, "forward-send", 1100, 1110)
      .span(1, 1, "forward-recv", 1100, 1110)
      .span(1, 0, "forward-compute", 1115, 1215)
      .span(1, 0, "backward-compute", 1215, 1515)
      .span(1, 1, "backward-send", 1515, 1525)
      .span(0, 1, "backward-recv", 1515, 1525)
      .span(0, 0, "backward-compute", 1525, 1725);
  return recording;
}

TEST_F(PipelineTimeline, IsReadByWorkerLaneAndStep) {
  const Timeline timeline = read(one_micro_batch().text());
  EXPECT_EQ(timeline.workers.size(), 2U);
  EXPECT_EQ(timeline.stages, 2);
  EXPECT_THAT(timeline.lanes, ElementsAre("compute", "pp-comm"));
  EXPECT_THAT(timeline.steps, ElementsAre(7));
  ASSERT_EQ(timeline.operations.size(), 8U);
  EXPECT_NEAR(timeline.operations[0].start, 1000e-6, 1e-12);
  EXPECT_STREQ(timeline.operations[1].type->name, "forward-send");
}

// Recorded: 725 us; without the delay of 5: 720. Typical: forward 100, backward 250, transfers 10, so
// 100 + 10 + 100 + 250 + 10 + 250 = 720 and the delay.
TEST_F(PipelineTimeline, ReplaysWithAndWithoutDelays) {
  const Timeline timeline = read(one_micro_batch().text());
  const Replay replay{timeline};
  EXPECT_NEAR(replay.measured(), 725e-6, 1e-12);
  EXPECT_NEAR(replay.mean_step(all, Delays::Recorded), 725e-6, 1e-10);
  EXPECT_NEAR(replay.mean_step(all, Delays::None), 720e-6, 1e-10);
  EXPECT_NEAR(replay.mean_step(nothing, Delays::Recorded), 725e-6, 1e-10);
  EXPECT_NEAR(replay.typical().at("backward-compute"), 250e-6, 1e-12);
}

// Only stage 1's backward as recorded (300), the other typical (250): 50 longer than the ideal.
TEST_F(PipelineTimeline, KeepsWhatIsAskedFor) {
  const Timeline timeline = read(one_micro_batch().text());
  const Replay replay{timeline};
  const auto last_stage = [](const Operation&, const Worker& worker) { return worker.stage == 1; };
  EXPECT_NEAR(replay.mean_step(last_stage, Delays::None), 770e-6, 1e-10);
}

// Two data ranks of one stage; the second computes 30 longer, and both go on when it has arrived. The long
// one at its mean (115) each: 15 shorter.
TEST_F(PipelineTimeline, ACollectiveBeginsWhenTheLastHasArrived) {
  Recording recording{1, 2};
  recording.span(0, 0, "forward-compute", 0, 100, 0).span(0, 0, "forward-compute", 0, 130, 1);
  for (const int data : {0, 1}) {
    recording.span(0, 3, "grads-reduce-scatter", 130, 150, data);
    recording.span(0, 0, "optimizer", 150, 170, data);
  }
  const Timeline timeline = read(recording.text());
  const StragglerStudy study = study_stragglers(Replay{timeline}, Delays::Recorded);
  EXPECT_NEAR(study.replayed, 170e-6, 1e-10);
  EXPECT_NEAR(study.ideal, 155e-6, 1e-10);
  ASSERT_EQ(study.data_ranks.size(), 2U);
  EXPECT_NEAR(study.data_ranks[1].alone, 170.0 / 155.0, 1e-6);
  EXPECT_NEAR(study.data_ranks[0].explained, 0, 1e-6);
  EXPECT_NEAR(study.data_ranks[1].explained, 1, 1e-6);
}

// A collective whose recorded time on the early worker holds its waiting: 100 to 150, its partner 130 to 150.
TEST_F(PipelineTimeline, WaitingIsNotTransfer) {
  Recording recording{1, 2};
  recording.span(0, 0, "forward-compute", 0, 100, 0)
      .span(0, 0, "forward-compute", 0, 130, 1)
      .span(0, 3, "grads-reduce-scatter", 100, 150, 0)
      .span(0, 3, "grads-reduce-scatter", 130, 150, 1);
  const Timeline timeline = read(recording.text());
  const Replay replay{timeline};
  EXPECT_NEAR(replay.typical().at("grads-reduce-scatter"), 20e-6, 1e-12);
  EXPECT_NEAR(replay.mean_step(all, Delays::Recorded), 150e-6, 1e-10);
}

// A reduction beside the backward pass of the same worker holds nothing up: 0-100, meanwhile 20-60.
TEST_F(PipelineTimeline, WorkOfTwoLanesOverlaps) {
  Recording recording{1, 1};
  recording.span(0, 0, "forward-compute", 0, 20)
      .span(0, 0, "backward-compute", 20, 100)
      .span(0, 3, "grads-reduce-scatter", 20, 60)
      .span(0, 0, "optimizer", 100, 110);
  const Timeline timeline = read(recording.text());
  EXPECT_NEAR(Replay{timeline}.mean_step(all, Delays::Recorded), 110e-6, 1e-10);
}

TEST_F(PipelineTimeline, StepsAreReplayedOneByOne) {
  Recording recording{1, 1};
  recording.step(3).span(0, 0, "forward-compute", 0, 100);
  recording.step(9).span(0, 0, "forward-compute", 5000, 5300);
  const Timeline timeline = read(recording.text());
  EXPECT_THAT(Replay{timeline}.steps(all, Delays::Recorded),
              ElementsAre(DoubleNear(100e-6, 1e-10), DoubleNear(300e-6, 1e-10)));
}

TEST_F(PipelineTimeline, SaysWhatIsWrong) {
  EXPECT_THAT(problem("[]"), HasSubstr("not a timeline of a pipeline"));
  EXPECT_THAT(problem(Recording{1, 1}.span(0, 0, "forward-compte", 0, 1).text()),
              HasSubstr("'forward-compte' is no operation whose partners are known - did you mean "
                        "'forward-compute'?"));
  EXPECT_THAT(problem(Recording{1, 1}.span(3, 0, "forward-compute", 0, 1).text()),
              HasSubstr("thread 15 of process 0 has no name"));
  EXPECT_THAT(
      problem(Recording{2, 1}.span(0, 1, "forward-send", 0, 1).text()),
      HasSubstr("only by stage 0, data rank 0, tensor rank 0: a message has a sender and a receiver"));
  EXPECT_THAT(problem(Recording{1, 1}.span(0, 0, "forward-compute", 5000, 1).text()),
              HasSubstr("'dur' is negative, and by more than clocks are apart"));
  EXPECT_THAT(problem(R"([{"ph":"X","name":"gc","ts":1,"dur":1,"pid":0,"tid":0}])"),
              HasSubstr("'step' is missing, or no whole number"));
  EXPECT_THAT(problem("[{\"ph\":\"X\""), HasSubstr("timeline.json"));
  EXPECT_THAT(problem("[1]"), HasSubstr("an object is expected here"));
}

TEST_F(PipelineTimeline, PartnersCallTheSameNumber) {
  Recording recording{1, 2};
  recording.span(0, 3, "params-all-gather", 0, 1, 0)
      .span(0, 3, "params-all-gather", 0, 1, 1)
      .span(0, 3, "params-all-gather", 2, 3, 1);
  EXPECT_THAT(problem(recording.text()),
              HasSubstr("step 7: 'params-all-gather' is called 1 times by stage 0, data rank 0"));
}

}  // namespace
}  // namespace lockstep::pipeline
