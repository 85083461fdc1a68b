#pragma once

/// @file
/// CUDA graphs: kernels that one call launched in the source are captured once, and launched by one call.

#include <functional>
#include <vector>

#include "generate/runtime/device.cuh"
#include "generate/runtime/table.hpp"

namespace benchmark {

/// Launches of a thread that are one graph: instructions from `first` to before `end`.
struct GraphRange {
  std::size_t first = 0, end = 0;
};

/// The graphs of a thread. Host time may pass between their launches; anything else ends a graph.
[[nodiscard]] std::vector<GraphRange> graph_ranges(const Program& program, const Rank& rank,
                                                   const std::vector<Instruction>& code);

/// One graph on the streams of its kernels.
class Graph {
 public:
  /// @param launch puts the kernel of an instruction on a stream
  Graph(const std::vector<Instruction>& code, const GraphRange& range,
        const std::vector<cudaStream_t>& streams,
        const std::function<void(const Instruction&, cudaStream_t)>& launch);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// After all that its streams have to do, and before what comes on them.
  void launch() const;

 private:
  void capture(const std::vector<Instruction>& code, const GraphRange& range,
               const std::vector<cudaStream_t>& streams,
               const std::function<void(const Instruction&, cudaStream_t)>& launch);

  cudaStream_t origin_ = nullptr;
  std::vector<cudaStream_t> others_;
  cudaEvent_t meets_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace benchmark
