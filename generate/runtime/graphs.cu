#include "generate/runtime/graphs.cuh"

#include <algorithm>

namespace benchmark {
namespace {

bool only_takes_time(const Instruction& i) {
  return i.op == Opcode::Host || i.op == Opcode::Open || i.op == Opcode::Close || i.op == Opcode::Lag;
}

bool is_work(const Instruction& i) {
  return i.op == Opcode::Launch || i.op == Opcode::Collective;
}

}  // namespace

std::vector<GraphRange> graph_ranges(const Program& program, const Rank& rank,
                                     const std::vector<Instruction>& code) {
  const auto graph_of = [&](const Instruction& i) {
    return i.op != Opcode::Launch
               ? -1
               : program.kernels.at(i.per_rank ? rank.kernel_slots.at(i.operand) : i.operand).graph;
  };
  std::vector<GraphRange> ranges;
  for (std::size_t at = 0; at < code.size();) {
    const int graph = graph_of(code[at]);
    if (graph < 0) {
      ++at;
      continue;
    }
    GraphRange range{at, at + 1};
    for (std::size_t next = at + 1; next < code.size(); ++next) {
      if (graph_of(code[next]) == graph) {
        range.end = next + 1;
      } else if (!only_takes_time(code[next]) && code[next].op != Opcode::Collective) {
        break;
      }
    }
    ranges.push_back(range);
    at = range.end;
  }
  return ranges;
}

Graph::Graph(const std::vector<Instruction>& code, const GraphRange& range,
             const std::vector<cudaStream_t>& streams, const Put& put) {
  origin_ = streams.at(code[range.first].stream);
  for (std::size_t at = range.first; at < range.end; ++at) {
    if (is_work(code[at])) {
      const cudaStream_t stream = streams.at(code[at].stream);
      if (stream != origin_ && std::find(others_.begin(), others_.end(), stream) == others_.end()) {
        others_.push_back(stream);
      }
    }
  }
  BENCHMARK_CHECK(cudaEventCreateWithFlags(&meets_, cudaEventDisableTiming));
  capture(code, range, streams, put);
}

Graph::~Graph() {
  static_cast<void>(cudaGraphExecDestroy(executable_));
  static_cast<void>(cudaGraphDestroy(graph_));
  static_cast<void>(cudaEventDestroy(meets_));
}

void Graph::capture(const std::vector<Instruction>& code, const GraphRange& range,
                    const std::vector<cudaStream_t>& streams, const Put& put) {
  BENCHMARK_CHECK(cudaStreamBeginCapture(origin_, cudaStreamCaptureModeThreadLocal));
  BENCHMARK_CHECK(cudaEventRecord(meets_, origin_));
  for (const cudaStream_t other : others_) {
    BENCHMARK_CHECK(cudaStreamWaitEvent(other, meets_, 0));
  }
  for (std::size_t at = range.first; at < range.end; ++at) {
    if (is_work(code[at])) {
      put(at, streams[code[at].stream]);
    }
  }
  for (const cudaStream_t other : others_) {
    BENCHMARK_CHECK(cudaEventRecord(meets_, other));
    BENCHMARK_CHECK(cudaStreamWaitEvent(origin_, meets_, 0));
  }
  BENCHMARK_CHECK(cudaStreamEndCapture(origin_, &graph_));
  BENCHMARK_CHECK(cudaGraphInstantiate(&executable_, graph_, 0));
}

void Graph::launch() const {
  for (const cudaStream_t other : others_) {
    BENCHMARK_CHECK(cudaEventRecord(meets_, other));
    BENCHMARK_CHECK(cudaStreamWaitEvent(origin_, meets_, 0));
  }
  BENCHMARK_CHECK(cudaGraphLaunch(executable_, origin_));
  if (!others_.empty()) {
    BENCHMARK_CHECK(cudaEventRecord(meets_, origin_));
  }
  for (const cudaStream_t other : others_) {
    BENCHMARK_CHECK(cudaStreamWaitEvent(other, meets_, 0));
  }
}

}  // namespace benchmark
