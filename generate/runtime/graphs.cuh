#pragma once

/// @file
/// CUDA graphs: kernels and collectives that one call launched in the source are captured once, and launched
/// by one call.

#include <functional>
#include <vector>

#include "generate/runtime/device.cuh"
#include "generate/runtime/table.hpp"

namespace benchmark {

/// Launches of a thread that are one graph: instructions from `first` to before `end`.
struct GraphRange {
  std::size_t first = 0, end = 0;
};

/// The graphs of a thread. Host time may pass between their launches, and collectives between two of its
/// kernels are its own, as the call is one. Anything else ends a graph.
[[nodiscard]] std::vector<GraphRange> graph_ranges(const Program& program, const Rank& rank,
                                                   const std::vector<Instruction>& code);

/// One graph on the streams of its kernels and collectives.
class Graph {
 public:
  /// Puts the kernel or collective of the instruction at a place of its thread on a stream.
  using Put = std::function<void(std::size_t, cudaStream_t)>;

  Graph(const std::vector<Instruction>& code, const GraphRange& range,
        const std::vector<cudaStream_t>& streams, const Put& put);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// After all that its streams have to do, and before what comes on them.
  void launch() const;

 private:
  void capture(const std::vector<Instruction>& code, const GraphRange& range,
               const std::vector<cudaStream_t>& streams, const Put& put);

  cudaStream_t origin_ = nullptr;
  std::vector<cudaStream_t> others_;
  cudaEvent_t meets_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace benchmark
