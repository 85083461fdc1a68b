#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/provenance.hpp"

namespace lockstep {

class Executor;

enum class PathPart : std::uint8_t {
  Kernel,
  Copy,  ///< between host and GPU
  Collective,
  LaunchLatency,  ///< from a launch call's return to the start on an idle stream
  KernelGap,      ///< between two kernels of a stream
  HostWork,
  Silence,     ///< of a recording: the host is busy with what no operator covers
  HostReturn,  ///< from an awaited moment until the host goes on
  Noise,
};

/// One answer of a model on the path: a kernel call on a GPU model, or a collective's plan. All of its pieces
/// are as wrong as one another.
struct PathPrediction {
  std::string family;  ///< of the models whose errors go together: `gemm`, `ring Simple`
  double seconds = 0;  ///< on the path
  double band = 0;     ///< relative half-width of the 90 % interval around it
  Provenance provenance = Provenance::Guessed;
};

/// A kind of work on the critical path of the last step.
struct CriticalShare {
  std::string what;    ///< kernel name, `all_reduce`, `host: aten::addmm`, `launch latency`, ...
  double seconds = 0;  ///< on the path
  std::uint32_t pieces = 0;
  /// A link that bounds collectives, or copies and kernels that move data between host and GPU.
  /// Empty: none does.
  std::string bottleneck;
  PathPart part = PathPart::HostWork;
  std::vector<PathPrediction> predictions;  ///< of kernels, copies and collectives
  /// Part of `seconds` over PCIe: copies between host and GPU, kernels bound by the links between them, and
  /// collectives bound by PCIe.
  double over_pcie = 0;
  std::string operation{};  ///< of HostWork: its operator as the program names it; empty otherwise
};

/// A stretch of the critical path on one lane.
struct PathPiece {
  std::uint32_t rank = 0;  ///< the one that was simulated, where alike ranks are folded
  bool on_host = false;
  std::uint8_t lane = 0;  ///< host thread, or stream
  double start = 0;       ///< s from the start of the simulation
  double end = 0;
};

struct CriticalPath {
  std::vector<CriticalShare> shares;  ///< largest first
  std::vector<PathPiece> pieces;      ///< in order of time; rests between them belong to no lane
};

/// Walks back from the end of the last step along what each piece of work waited for. Ranks on the way run
/// once more (RankRerun).
/// @param executor has finished, with ExecutorSpec::record_rendezvous
CriticalPath critical_path(Executor& executor);

}  // namespace lockstep
