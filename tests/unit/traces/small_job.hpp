#pragma once

/// @file
/// A job of two ranks, and the spans that two steps of it would give, for tests of the timeline.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ops/job.hpp"
#include "sim/timeline.hpp"

namespace lockstep::test {

/// Main thread: a range `## forward ##` around an operator `aten::addmm` with one GEMM; a copy of 4 MiB, a
/// memset; an event recorded and waited for; an all-reduce of 1 MiB on the second stream; a device
/// synchronise. Autograd thread: `AddmmBackward0` with a GEMM.
Job small_job();

/// GPUs `node0.gpu0` and `node0.gpu1`.
std::vector<Vertex> two_gpus();

/// Spans of all ranks for @p steps steps. Times are chosen to end on fractions of nanoseconds; rank 1 runs
/// 3 us behind rank 0, so that rank 0 waits in the all-reduce.
std::vector<TimelineSpan> spans_of_small_job(std::uint32_t steps);

/// The text of a gzip file. @throws std::runtime_error when zlib cannot read it to its end
std::string gunzip(const std::filesystem::path& path);

/// The events of a file for which @p member is @p value.
std::vector<nlohmann::json> events_with(const nlohmann::json& trace, const std::string& member,
                                        const std::string& value);

/// A directory of its own, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::vector<std::string> files() const;  ///< names, sorted

 private:
  std::filesystem::path path_;
};

}  // namespace lockstep::test
