#pragma once

/// @file
/// Small programs written by hand, in ticks of 2^-20 s (0.95 us): sums of ticks are exact in floating point,
/// so that expected dates can be worked out on paper and compared to the last bit.

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ops/collectives/collective_planner.hpp"
#include "ops/job.hpp"
#include "sim/simulation.hpp"
#include "tests/support/small_machines.hpp"

namespace lockstep::testing {

inline constexpr double kTick = 0x1p-20;                 // s
inline constexpr BytesPerSecond kTickBandwidth{0x1p30};  // 1024 bytes a tick
constexpr Bytes worth(double ticks) {
  return Bytes{1024 * ticks};
}  ///< bytes that take so long on such a link

/// Writes a Program, an instruction a call. Costs and durations in ticks.
class Script {
 public:
  explicit Script(std::vector<std::string> streams, std::vector<std::string> groups = {}) {
    program_.streams = std::move(streams);
    program_.groups = std::move(groups);
    program_.names = {"work"};
    on("main");
  }
  /// Chooses the thread that executes the instructions that follow.
  Script& on(const std::string& thread) {
    auto& threads = program_.threads;
    const auto known =
        std::find_if(threads.begin(), threads.end(), [&](auto& t) { return t.name == thread; });
    current_ = static_cast<std::size_t>(known - threads.begin());
    if (known == threads.end()) {
      threads.push_back({thread, {}});
    }
    return *this;
  }
  Script& work(double cost) { return add(Opcode::HostWork, 0, 0, cost); }
  Script& launch(std::uint8_t stream, double duration, double cost = 0, const std::string& name = "kernel") {
    program_.kernels.push_back({name, DataType::FP32, Timed{Seconds{duration * kTick}}});
    return add(Opcode::Launch, stream, last(program_.kernels), cost);
  }
  Script& kernel(std::uint8_t stream, KernelCall call) {
    program_.kernels.push_back(std::move(call));
    return add(Opcode::Launch, stream, last(program_.kernels), 0);
  }
  Script& copy(std::uint8_t stream, Bytes size, Memcpy::Path path, double cost = 0) {
    program_.kernels.push_back({"copy", DataType::FP32, Memcpy{size, path, true}});
    return add(Opcode::Launch, stream, last(program_.kernels), cost);
  }
  /// Copies memory of the host that is not pinned to the device.
  Script& pageable_copy(std::uint8_t stream, Bytes size) {
    return kernel(stream, {"pageable", DataType::FP32, Memcpy{size, Memcpy::Path::HostToDevice, false}});
  }
  Script& collective(std::uint8_t stream, CollectiveCall call, double cost = 0) {
    program_.collectives.push_back(std::move(call));
    return add(Opcode::Collective, stream, last(program_.collectives), cost);
  }
  Script& all_reduce(std::uint8_t stream, std::uint32_t group, Bytes size, double cost = 0) {
    return collective(stream, {CollectiveKind::AllReduce, DataType::FP32, group, size, {}, 0}, cost);
  }
  Script& record(std::uint8_t stream, std::uint32_t event, double cost = 0) {
    program_.events = std::max(program_.events, event + 1);
    return add(Opcode::RecordEvent, stream, event, cost);
  }
  Script& stream_wait(std::uint8_t stream, std::uint32_t event, double cost = 0) {
    program_.events = std::max(program_.events, event + 1);
    return add(Opcode::StreamWait, stream, event, cost);
  }
  /// Waits for the event may come before its record: they mean that of the step before.
  Script& carry(std::uint32_t event) {
    program_.events = std::max(program_.events, event + 1);
    program_.carried_events.push_back(event);
    return *this;
  }
  Script& wait_event(std::uint32_t event, double cost = 0) { return add(Opcode::WaitEvent, 0, event, cost); }
  Script& wait_stream(std::uint8_t stream, double cost = 0) {
    return add(Opcode::WaitStream, stream, 0, cost);
  }
  Script& wait_device(double cost = 0) { return add(Opcode::WaitDevice, 0, 0, cost); }
  Script& post(std::uint32_t flag, double cost = 0) {
    program_.flags = std::max(program_.flags, flag + 1);
    return add(Opcode::Post, 0, flag, cost);
  }
  Script& await(std::uint32_t flag, double cost = 0) {
    program_.flags = std::max(program_.flags, flag + 1);
    return add(Opcode::Await, 0, flag, cost);
  }
  /// The next work on @p stream begins so much later after its launch and after the work before.
  Script& lag(std::uint8_t stream, double after_launch, double after_work) {
    return add(Opcode::StartLag, stream, 0, after_work).after(after_launch);
  }
  /// The lead of the latest instruction.
  Script& after(double lead) {
    program_.threads[current_].instructions.back().lead = static_cast<float>(lead * kTick);
    return *this;
  }
  [[nodiscard]] const Program& program() const { return program_; }

 private:
  template <class Table>
  static std::uint32_t last(const Table& table) {
    return static_cast<std::uint32_t>(table.size() - 1);
  }
  Script& add(Opcode op, std::uint8_t stream, std::uint32_t operand, double cost) {
    program_.threads[current_].instructions.push_back(
        {op, stream, false, 0, operand, 0, static_cast<float>(cost * kTick)});
    return *this;
  }

  Program program_;
  std::size_t current_ = 0;
};

/// A job of one program a rank, on the fabric's GPUs in order; a program's groups are the job's of that name.
inline Job job_of(const Fabric& fabric, const std::vector<Script>& scripts,
                  std::vector<ProcessGroup> groups = {}, int steps = 1) {
  Job job;
  job.groups = std::move(groups);
  job.steps = steps;
  for (std::uint32_t rank = 0; rank < scripts.size(); ++rank) {
    job.programs.push_back(std::make_shared<Program>(scripts[rank].program()));
    RankAssignment assignment{fabric.gpus()[rank], rank, {}, {}, {}};
    for (const std::string& name : job.programs.back()->groups) {
      const auto group =
          std::find_if(job.groups.begin(), job.groups.end(), [&](auto& g) { return g.name == name; });
      if (group == job.groups.end()) {
        throw std::logic_error("no group " + name);
      }
      assignment.groups.push_back(static_cast<std::uint32_t>(group - job.groups.begin()));
    }
    job.ranks.push_back(std::move(assignment));
  }
  return job;
}

/// GPUs on one NVSwitch, and on one PCIe switch below the only CPU socket; every link 1024 bytes a tick. Only
/// PCIe has a latency, so that GPUs talk to each other over NVLink; copies do not pay it.
inline Fabric tick_machine(int gpus) {
  Sketch sketch;
  const VertexId cpu = sketch.add(VertexKind::CpuSocket, 0, 0, "cpu");
  const VertexId pcie = sketch.add(VertexKind::PcieSwitch, 0, 0, "pcie");
  const VertexId hub = sketch.add(VertexKind::NvSwitch, 0, 0, "nvswitch");
  sketch.connect(pcie, cpu, LinkKind::Pcie, kTickBandwidth, Seconds{kTick});
  for (int i = 0; i < gpus; ++i) {
    const VertexId gpu = sketch.add(VertexKind::Gpu, 0, i, "gpu" + std::to_string(i));
    sketch.connect(gpu, hub, LinkKind::NvLink, kTickBandwidth, Seconds{0});
    sketch.connect(gpu, pcie, LinkKind::Pcie, kTickBandwidth, Seconds{kTick});
  }
  return sketch.fabric();
}

/// A GPU without latencies or gaps; copies run at a link's speed.
inline GpuSpec tick_gpu() {
  GpuSpec gpu;
  gpu.name = "tick_gpu";
  gpu.sm_count = 100;
  gpu.host_copy = {kTickBandwidth, kTickBandwidth, Seconds{0}};
  return gpu;
}

inline SimulationInput input_of(const Job& job, const Fabric& fabric, const CollectivePlanner& planner) {
  SimulationInput input;
  input.job = &job;
  input.fabric = &fabric;
  input.gpu_models = {tick_gpu()};
  input.gpu_model_of_rank.assign(job.ranks.size(), 0);
  input.plan_collective = [&planner](const CollectiveRequest& request, std::span<const VertexId> members) {
    return planner.plan(request, members);
  };
  return input;
}

/// All-reduces as rings, on nothing but the links.
inline CollectiveOptions rings() {
  CollectiveOptions options;
  options.algorithm[CollectiveKind::AllReduce] = CommAlgorithm::Ring;
  return options;
}

/// Keeps every span.
class Recording final : public TimelineSink {
 public:
  void write(std::span<const TimelineSpan> spans) override {
    spans_.insert(spans_.end(), spans.begin(), spans.end());
  }
  [[nodiscard]] const std::vector<TimelineSpan>& spans() const { return spans_; }

  /// Spans on a stream, in order.
  [[nodiscard]] std::vector<TimelineSpan> gpu(std::uint32_t rank, std::uint8_t stream) const {
    return only([&](const TimelineSpan& span) {
      return (span.kind == SpanKind::Kernel || span.kind == SpanKind::Collective) && span.rank == rank &&
             span.stream == stream;
    });
  }
  /// Spans of a host thread, but for ranges.
  [[nodiscard]] std::vector<TimelineSpan> host(std::uint32_t rank, std::uint8_t thread = 0) const {
    return only([&](const TimelineSpan& span) {
      return (span.kind == SpanKind::HostWork || span.kind == SpanKind::Runtime ||
              span.kind == SpanKind::HostWait) &&
             span.rank == rank && span.thread == thread;
    });
  }

 private:
  template <class Condition>
  std::vector<TimelineSpan> only(Condition condition) const {
    std::vector<TimelineSpan> kept;
    std::copy_if(spans_.begin(), spans_.end(), std::back_inserter(kept), condition);
    return kept;
  }
  std::vector<TimelineSpan> spans_;
};

using Ticks = std::pair<double, double>;

/// Start and end of each span, in ticks.
inline std::vector<Ticks> in_ticks(const std::vector<TimelineSpan>& spans) {
  std::vector<Ticks> ticks;
  for (const TimelineSpan& span : spans) {
    ticks.emplace_back(span.start / kTick, span.end / kTick);
  }
  return ticks;
}

}  // namespace lockstep::testing
