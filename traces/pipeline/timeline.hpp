#pragma once

/// @file
/// What each worker of a pipeline-parallel job did, operation by operation, as a light tracer writes it that
/// lists whole forward and backward passes, sends, receives and collectives instead of kernels.

#include <cstdint>
#include <string>
#include <vector>

#include "traces/import_report.hpp"

namespace lockstep::pipeline {

/// Who takes part in an operation.
enum class Partners : std::uint8_t {
  None,             ///< computation, or a wait of the worker's own
  SendToNext,       ///< activations, to the next stage
  ReceiveFromPrev,  ///< the other end of it
  SendToPrev,       ///< gradients, to the stage before
  ReceiveFromNext,  ///< the other end of it
  DataGroup,        ///< the workers of the same stage and tensor rank
  TensorGroup,      ///< the workers of the same stage and data rank
  FirstAndLast,     ///< first and last stage, which share an embedding; same data and tensor rank
  All,
};

/// An operation that the tracer knows, by its name.
struct OperationType {
  const char* name;
  const char* type;  ///< sends and receives of one direction are one type
  Partners partners;
};

struct Worker {
  int stage = 0, data = 0, tensor = 0;
  bool operator==(const Worker&) const = default;
  auto operator<=>(const Worker&) const = default;
};

/// Times in seconds; all workers' clocks are taken to agree.
struct Operation {
  const OperationType* type = nullptr;
  std::uint32_t worker = 0;  ///< index into Timeline::workers
  std::uint32_t lane = 0;    ///< index into Timeline::lanes
  std::int64_t step = 0;
  double start = 0, end = 0;
  [[nodiscard]] double duration() const { return end - start; }
};

struct Timeline {
  std::string file;
  std::vector<std::string> lanes;  ///< streams by name: `compute`, `pp-comm`, ...
  std::vector<Worker> workers;     ///< ascending
  int stages = 1;
  std::vector<std::int64_t> steps;       ///< ascending; a tracer that samples leaves gaps
  std::vector<Operation> operations;     ///< by step, worker, start and end
  std::vector<std::int64_t> incomplete;  ///< steps of which times were lost: left out of all lists
  ImportReport report;
};

/// Reads a timeline in the format of ByteDance's straggler analysis
/// (github.com/ByteDance-Seed/StragglerAnalysis, NDTimeline): an array of Chrome trace events, gz or not;
/// threads named `PP rank 0, TP rank 0, compute`, pid the data-parallel rank, `args.step` the step,
/// microseconds. Pairs of begin and end are read as one event. Durations a little below 0 count as 0; a step
/// with a time that was lost (TimeWindow) is left out whole.
/// @throws InputError: no such file, cut off, an event without its time, step or a named thread, an operation
///   whose partners are not known or that ends long before it begins; no step is whole
[[nodiscard]] Timeline read_timeline(const std::string& file_name);

}  // namespace lockstep::pipeline
