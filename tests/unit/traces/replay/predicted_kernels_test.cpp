#include "traces/replay/predicted_kernels.hpp"

#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep::testing {
namespace {

constexpr double kMicro = 1e-6;

/// Launches, one after the other, each within an operator of its own.
class Recording {
 public:
  Recording() { trace_.threads.resize(1); }

  /// Work of @p microseconds from here on.
  Recording& lasting(std::int64_t microseconds) {
    duration_ = 1'000 * microseconds;
    return *this;
  }

  Recording& kernel(const std::string& name, const std::string& op, const std::string& dims,
                    const std::string& types) {
    kineto::Operator around;
    around.start = now_;
    around.end = now_ + 9'000;
    around.name = trace_.names.number(op);
    around.input_dims = trace_.names.number(dims);
    around.input_types = trace_.names.number(types);
    trace_.operators.push_back(around);
    work(name, kineto::WorkKind::Kernel, 0);
    return *this;
  }
  Recording& copy(const std::string& name, double bytes) {
    work(name, kineto::WorkKind::Memcpy, bytes);
    return *this;
  }
  Recording& on_gpu_of(std::int64_t compute_major) {
    trace_.compute_major = compute_major;
    return *this;
  }
  replay::Replay replay() {
    std::vector<kineto::RecordedTrace> traces;
    traces.push_back(std::move(trace_));
    return replay::make_replay(std::move(traces));
  }

 private:
  /// Each takes 20 us, unless told otherwise, and begins 4 us after its call.
  void work(const std::string& name, kineto::WorkKind kind, double bytes) {
    const std::int64_t correlation = static_cast<std::int64_t>(trace_.calls.size()) + 1;
    kineto::Call call;
    call.start = now_ + 1'000;
    call.end = now_ + 3'000;
    call.name = trace_.names.number("cudaLaunchKernel");
    call.kind = kineto::CallKind::Launch;
    call.correlation = correlation;
    trace_.calls.push_back(call);
    kineto::Work work;
    work.start = now_ + 5'000;
    work.end = work.start + duration_;
    work.name = trace_.names.number(name);
    work.stream = 7;
    work.kind = kind;
    work.correlation = correlation;
    work.bytes = bytes;
    trace_.work.push_back(work);
    now_ += 100'000;
  }

  kineto::RecordedTrace trace_;
  kineto::Nanoseconds now_ = 1'000'000, duration_ = 20'000;
};

GpuSpec gpu(const std::string& name) {
  return read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + name + ".yaml");
}

replay::Replay some_kernels() {
  return Recording{}
      .kernel("vectorized_elementwise_kernel", "aten::relu", "[[1048576]]", R"(["float"])")
      .kernel("mystery", "aten::mystery", "[[1048576]]", R"(["float"])")
      .copy("Memcpy HtoD (Pinned -> Device)", 1e6)
      .replay();
}

std::map<std::string, double> launched_times(const replay::Replay& replay) {
  const Program& program = *replay.job.programs.front();
  std::map<std::string, double> times;
  for (const Instruction& instruction : program.threads.front().instructions) {
    if (instruction.op == Opcode::Launch) {
      const KernelCall& kernel = program.kernels.at(instruction.operand);
      times[kernel.name] = std::get<Timed>(kernel.work).duration.in_base_units();
    }
  }
  return times;
}

TEST(PredictedKernels, TakeWhatTheModelsSayAndTheRestWhatItTook) {
  replay::Replay replay = some_kernels();
  const GpuSpec v100 = gpu("v100_16gb");
  const auto made = replay::predict_kernels(replay, v100, nullptr);
  const KernelCall relu{"", DataType::FP32, Pointwise{.elements = 1048576}};
  const double expected = model_for(relu).predict(relu, v100).duration.in_base_units();
  const auto times = launched_times(replay);
  EXPECT_DOUBLE_EQ(times.at("vectorized_elementwise_kernel"), expected);
  EXPECT_NEAR(times.at("mystery"), 20 * kMicro, 1e-12);
  // 1 MB at 12.3 GB/s (configs/gpus/v100_16gb.yaml), and its latency of 1.5 us.
  EXPECT_NEAR(times.at("Memcpy HtoD (Pinned -> Device)"), 1.5 * kMicro + 1e6 / 12.3e9, 1e-9);
  ASSERT_EQ(made.families.size(), 2U);
  EXPECT_NEAR(made.recorded, 60 * kMicro, 1e-12);
  EXPECT_NEAR(made.modelled().recorded, 40 * kMicro, 1e-12);
  ASSERT_EQ(made.unmodelled.size(), 1U);
  EXPECT_EQ(made.unmodelled.front().name, "mystery");
  EXPECT_EQ(made.unmodelled.front().kernels, 1U);
  const auto& relus = made.families[made.families[0].family == "element-wise" ? 0 : 1];
  EXPECT_EQ(relus.compared, 1U);
  EXPECT_NEAR(relus.geometric_mean, std::abs(expected / (20 * kMicro) - 1), 1e-9);
}

TEST(PredictedKernels, WhatNoModelKnowsIsScaledByBandwidthWhenTheRecordedGpuIsSaid) {
  replay::Replay replay = some_kernels();
  const GpuSpec from = gpu("v100_16gb"), to = gpu("h100_80gb");
  const auto made = replay::predict_kernels(replay, to, &from);
  const double factor = 898.0 / 3352.0;  // memory_bandwidth of the two files
  EXPECT_NEAR(made.unmodelled_factor, factor, 1e-9);
  EXPECT_NEAR(launched_times(replay).at("mystery"), 20 * kMicro * factor, 1e-12);
}

Recording small_kernels(int count) {
  Recording recording;
  recording.lasting(3);
  for (int i = 0; i < count; ++i) {
    recording.kernel("vectorized_elementwise_kernel", "aten::relu", "[[1]]", R"(["float"])");
  }
  return recording;
}

/// 20 additions of one element take 3 us in place of the least that a kernel takes: so does each kernel more.
TEST(PredictedKernels, HaveWhatTheProfilerAddsToTheSmallest) {
  const GpuSpec v100 = gpu("v100_16gb");
  replay::Replay replay =
      small_kernels(20)
          .lasting(20)
          .kernel("vectorized_elementwise_kernel<large>", "aten::relu", "[[1048576]]", R"(["float"])")
          .copy("Memcpy HtoD (Pinned -> Device)", 1e6)
          .replay();
  const auto made = replay::predict_kernels(replay, v100, nullptr);
  const double added = 3 * kMicro - v100.kernel_minimum.in_base_units();
  EXPECT_NEAR(made.profiler, added, 0.01 * kMicro);
  EXPECT_EQ(made.smallest, 20U);
  const KernelCall relu{"", DataType::FP32, Pointwise{.elements = 1048576}};
  const auto times = launched_times(replay);
  EXPECT_NEAR(times.at("vectorized_elementwise_kernel<large>"),
              model_for(relu).predict(relu, v100).duration.in_base_units() + made.profiler, 1e-12);
  EXPECT_NEAR(times.at("Memcpy HtoD (Pinned -> Device)"), 1.5 * kMicro + 1e6 / 12.3e9, 1e-9);
}

TEST(PredictedKernels, NeedTwentySmallOnesToTellWhatTheProfilerAdds) {
  replay::Replay replay = small_kernels(19).replay();
  EXPECT_EQ(replay::predict_kernels(replay, gpu("v100_16gb"), nullptr).profiler, 0);
}

TEST(PredictedKernels, AreComparedApartWhereNothingCommunicates) {
  replay::Replay replay = some_kernels();
  const auto alone = replay::predict_kernels(replay, gpu("v100_16gb"), nullptr).modelled();
  EXPECT_DOUBLE_EQ(alone.alone_recorded, alone.recorded);
  replay = some_kernels();
  replay.ranks.front().communication = {1};  // the second kernel
  replay.ranks.front().trace.work[1].start = replay.ranks.front().trace.work[0].start;
  const auto beside = replay::predict_kernels(replay, gpu("v100_16gb"), nullptr).modelled();
  EXPECT_NEAR(beside.recorded, 40 * kMicro, 1e-12);
  EXPECT_NEAR(beside.alone_recorded, 20 * kMicro, 1e-12);  // the copy
}

/// Convolutions of @p compute_major, predicted on an A100: in TF32 or in FP32?
double convolution_on_a100(std::int64_t compute_major) {
  replay::Replay replay =
      Recording{}
          .on_gpu_of(compute_major)
          .kernel("wgrad", "aten::convolution_backward",
                  "[[32, 64, 56, 56], [32, 64, 56, 56], [64, 64, 3, 3]]", R"(["float", "float", "float"])")
          .replay();
  (void)replay::predict_kernels(replay, gpu("a100_80gb"), nullptr);
  return launched_times(replay).at("wgrad");
}

TEST(PredictedKernels, ConvolutionsOfGpusWithoutTf32TakeItWhereItIs) {
  EXPECT_LT(convolution_on_a100(7), convolution_on_a100(8));
  EXPECT_DOUBLE_EQ(convolution_on_a100(-1), convolution_on_a100(8));
}

}  // namespace
}  // namespace lockstep::testing
