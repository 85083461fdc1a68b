#pragma once

/// @file
/// The timeline of `lockstep run`: which ranks and steps, in which format, and who else listens.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/run.hpp"
#include "app/report/page_timeline.hpp"
#include "scenario/prediction.hpp"
#include "sim/link_load_recorder.hpp"
#include "traces/chrome_trace.hpp"
#include "traces/memory_recorder.hpp"
#include "traces/perfetto_trace.hpp"

namespace lockstep {

/// The ending of a timeline in Perfetto's own format.
constexpr const char* kPerfettoEnding = ".perfetto-trace";

/// Before anything is simulated. @throws std::invalid_argument for options that ask for what cannot be
void check_timeline(const RunOptions& options, const ResolvedScenario& resolved);

/// Writes the timeline's file, and keeps what report.html shows of it.
class RunTimeline {
 public:
  /// Must outlive the simulation, as must @p resolved. @param folder where the file is written
  /// @param simulated ranks that are shown where none are asked for
  TimelineRequest open(const RunOptions& options, const ResolvedScenario& resolved,
                       const std::filesystem::path& folder, const std::vector<std::uint32_t>& simulated);

  /// The page's file; null: not opened.
  [[nodiscard]] PageTimeline* page() { return page_ ? &*page_ : nullptr; }

  /// Memory that the GPUs of the ranks in the timeline hold over its steps; empty where that is not modelled.
  [[nodiscard]] std::vector<MemoryCourse> memory() const;

  /// Completes the file. @throws InputError when the disk did not take it
  void finish(const SimulationResult& result);

  /// Tells on stderr where the file is and what it does not show; empty: there is none.
  [[nodiscard]] std::string remark(const std::filesystem::path& folder) const;

 private:
  [[nodiscard]] LoadObserver observe_links(const RunOptions& options, const Fabric& fabric);

  std::optional<ChromeTraceWriter> json_;
  std::optional<PerfettoTraceWriter> perfetto_;  ///< in its place
  std::optional<PageTimeline> page_;
  std::optional<LinkLoadRecorder> loads_;
  std::optional<MemoryRecorder> memory_;
  const Fabric* fabric_ = nullptr;
  std::uint32_t first_step_ = 0;
  TimelineTee both_;
  std::string left_out_;  ///< TimelinePart::left_out
};

}  // namespace lockstep
