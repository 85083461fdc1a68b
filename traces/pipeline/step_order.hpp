#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/pipeline/timeline.hpp"

namespace lockstep::pipeline {

/// Operations of a worker that are one call: one, or sends and receives issued together.
struct Task {
  std::vector<std::uint32_t> operations;  ///< of the step
  std::vector<std::uint32_t> meetings;    ///< that all partners have to have reached, ascending
  std::vector<std::uint32_t> after;       ///< tasks of the worker on other lanes that end before it can begin
  bool awaited = false;                   ///< by a task of another lane
  std::uint32_t lane = 0;
  double delay = 0;  ///< s from when it could have begun until it began
};

/// A point that all members have to reach before any of them goes on.
struct Meeting {
  std::vector<std::uint32_t> workers;  ///< ascending, each once
};

/// One step: what every worker does, in which order, and what waits for what.
struct StepOrder {
  std::span<const Operation> operations;
  std::vector<std::vector<Task>> tasks;  ///< by worker, ascending by start
  std::vector<Meeting> meetings;         ///< in an order in which they can be held
  std::vector<double> transfer;          ///< s, by operation: its duration from when all partners were there
  double measured = 0;                   ///< s, from the first start to the last end
};

/// *What is inferred.* Operations of a lane run one after the other; those of one lane that overlap are one
/// call (batched sends and receives). Across lanes, what had ended when a task began, or overlaps it by at
/// most a tenth of the shorter one (events of two streams are not recorded at the same instant), was waited
/// for. The k-th send of a stage meets the k-th receive of its neighbour, the k-th collective of a name that
/// of the group's other members. Partners are there when the last of them begins; what passes between
/// the moment when all could have begun and that moment is a delay (of the host: the tracer sees no more).
/// @throws InputError for partners that do not call the same number of an operation, or in circles
[[nodiscard]] StepOrder order_of(const Timeline& timeline, std::int64_t step);

}  // namespace lockstep::pipeline
