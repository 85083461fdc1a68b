/// How many timeline events a second reach the disk, gzip included.
///
/// An event is a JSON event: a slice (operator, runtime call, kernel, step) or half a flow arrow. A kernel
/// with its operator is five: operator, launch, its half of the arrow, kernel, its half. Spans are made
/// beforehand, as the simulation would hand them over: rank by rank, because actors run ahead, in batches,
/// with times that differ from step to step.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "traces/chrome_trace.hpp"

namespace {

using namespace lockstep;

constexpr std::uint32_t kOperators = 500;  // a transformer layer or two: a few hundred operators a step
constexpr std::uint32_t kCollectiveEvery = 50;

Instruction instruction(Opcode op, std::uint32_t operand = 0, std::uint8_t stream = 0) {
  Instruction one;
  one.op = op;
  one.operand = operand;
  one.stream = stream;
  return one;
}

/// kOperators operators with one kernel each; every 50th is an all-reduce on another stream.
std::shared_ptr<const Program> program() {
  Program made;
  made.streams = {"compute", "nccl"};
  made.groups = {"world"};
  Program::Thread main{"main", {}};
  for (std::uint32_t i = 0; i < kOperators; ++i) {
    main.instructions.push_back(instruction(Opcode::RangeBegin, i % 20));
    if (i % kCollectiveEvery == 0) {
      main.instructions.push_back(instruction(Opcode::Collective, i / kCollectiveEvery, 1));
    } else {
      main.instructions.push_back(instruction(Opcode::Launch, i % 60));
    }
    main.instructions.push_back(instruction(Opcode::RangeEnd));
  }
  for (int i = 0; i < 20; ++i) {
    made.names.push_back(fmt::format("aten::operator_{}", i));
  }
  for (int i = 0; i < 60; ++i) {
    made.kernels.push_back({fmt::format("ampere_sgemm_{}x{}_tn", 32 << (i % 3), 64 << (i % 4)),
                            DataType::FP32, Gemm{1, 128 + 16 * i, 1024, 64 * i}});
    made.collectives.push_back(
        {CollectiveKind::AllReduce, DataType::FP32, 0, Bytes{1048576.0 * (i + 1)}, {}, 0});
  }
  made.threads.push_back(std::move(main));
  return std::make_shared<const Program>(std::move(made));
}

Job job_of(std::uint32_t ranks) {
  Job job;
  job.programs = {program()};
  job.groups = {{"world", {}}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    job.groups[0].ranks.push_back(rank);
    job.ranks.push_back({rank, 0, {0}, {}, {}});
  }
  return job;
}

std::vector<Vertex> gpus(std::uint32_t ranks) {
  std::vector<Vertex> vertices(ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    vertices[i] = {VertexKind::Gpu, static_cast<int>(i / 8), static_cast<int>(i % 8),
                   fmt::format("node{}.gpu{}", i / 8, i % 8), "A100-SXM4-80GB"};
  }
  return vertices;
}

/// The spans of one rank's step, from time 0.
std::vector<TimelineSpan> step_spans() {
  std::mt19937_64 random{1};
  std::uniform_real_distribution<double> host{4e-6, 12e-6}, gpu{2e-6, 400e-6};
  std::vector<TimelineSpan> spans;
  double now = 0, stream_end = 0;
  for (std::uint32_t i = 0; i < kOperators; ++i) {
    const bool collective = i % kCollectiveEvery == 0;
    TimelineSpan launch{now + host(random),
                        0,
                        0,
                        0,
                        3 * i + 1,
                        i + 1,
                        0,
                        SpanKind::Runtime,
                        0,
                        static_cast<std::uint8_t>(collective ? 1 : 0),
                        0};
    launch.end = launch.start + host(random);
    TimelineSpan kernel = launch;
    kernel.kind = collective ? SpanKind::Collective : SpanKind::Kernel;
    kernel.start = std::max(launch.end, stream_end);
    kernel.end = stream_end = kernel.start + gpu(random);
    kernel.transfer_start = 0.5 * (kernel.start + kernel.end);
    TimelineSpan range = launch;
    range.kind = SpanKind::Range;
    range.instruction = 3 * i;
    range.correlation = 0;
    range.start = now;
    range.end = now = launch.end + host(random);
    spans.insert(spans.end(), {launch, kernel, range});
  }
  return spans;
}

/// Takes the place of the simulation: hands over the spans of every rank and step, a batch a step.
void write_steps(ChromeTraceWriter& writer, std::uint32_t ranks, std::uint32_t steps) {
  const std::vector<TimelineSpan> one = step_spans();
  std::vector<TimelineSpan> batch = one;
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const double shift = 0.1 * step + 1.7e-7 * rank;
      const double stretch = 1 + 1e-4 * ((rank * 7919 + step * 104729) % 101);  // ranks and steps differ
      for (std::size_t i = 0; i < one.size(); ++i) {
        TimelineSpan& span = batch[i];
        span.start = shift + stretch * one[i].start;
        span.end = shift + stretch * one[i].end;
        span.transfer_start = shift + stretch * one[i].transfer_start;
        span.rank = rank;
        span.step = step;
        span.correlation = one[i].correlation == 0 ? 0 : step * kOperators + one[i].correlation;
      }
      writer.write(batch);
    }
  }
}

/// @param state arguments: ranks, steps, compression threads, a file per rank (0 or 1)
void timeline(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const auto steps = static_cast<std::uint32_t>(state.range(1));
  const Job job = job_of(ranks);
  const std::vector<Vertex> vertices = gpus(ranks);
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / fmt::format("lockstep_timeline_bench_{}", getpid());
  std::filesystem::create_directory(directory);
  double events = 0, text = 0, compressed = 0;
  for ([[maybe_unused]] auto once : state) {
    ChromeTraceOptions options;
    options.path = directory / "timeline.json.gz";
    options.compression_threads = static_cast<int>(state.range(2));
    options.file_per_rank = state.range(3) != 0;
    ChromeTraceWriter writer{job, vertices, options};
    write_steps(writer, ranks, steps);
    writer.finish();
    events += static_cast<double>(writer.events());
    text += static_cast<double>(writer.text_size());
    for (const std::filesystem::path& path : writer.paths()) {
      compressed += static_cast<double>(std::filesystem::file_size(path));
    }
  }
  std::filesystem::remove_all(directory);
  state.counters["events/s"] = benchmark::Counter{events, benchmark::Counter::kIsRate};
  state.counters["text B/event"] = text / events;
  state.counters["gzip B/event"] = compressed / events;
}

BENCHMARK(timeline)
    ->ArgNames({"ranks", "steps", "threads", "apart"})
    ->Args({8, 200, 1, 0})
    ->Args({8, 200, 0, 0})
    ->Args({8, 200, 1, 1})
    ->Args({512, 4, 1, 0})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
