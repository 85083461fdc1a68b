#include "app/run_timeline.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>
#include <utility>

#include "scenario/memory_demand.hpp"
#include "scenario/rank_list.hpp"
#include "traces/timeline_budget.hpp"
#include "traces/timeline_tracks.hpp"

namespace lockstep {
namespace {

/// Ranks of the timeline: those asked for, all of a small job; else empty.
std::vector<std::uint32_t> asked_timeline_ranks(const RunOptions& options, const ResolvedScenario& resolved) {
  constexpr std::size_t kFew = 64;
  const std::size_t ranks = resolved.job.ranks.size();
  if (options.timeline_ranks.empty()) {
    return ranks <= kFew ? parse_ranks("all", ranks) : std::vector<std::uint32_t>{};
  }
  try {
    return parse_ranks(options.timeline_ranks, ranks);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument{
        fmt::format("--timeline-ranks {}: {}", options.timeline_ranks, problem.what())};
  }
}

/// @param simulated ranks that are shown where none are asked for
ChromeTraceOptions trace_options(const RunOptions& options, const ResolvedScenario& resolved,
                                 const std::filesystem::path& folder,
                                 const std::vector<std::uint32_t>& simulated) {
  const std::vector<std::uint32_t> asked_for = asked_timeline_ranks(options, resolved);
  ChromeTraceOptions trace;
  trace.file_per_rank = options.timeline_per_rank;
  for (const NoiseSpec& noise : resolved.scenario.vary.noise) {
    trace.noise.push_back(noise.name);
  }
  const bool is_bounded = options.timeline_ranks.empty() || options.timeline_events > 0;
  TimelinePart part = part_within(resolved.job, asked_for.empty() ? simulated : asked_for,
                                  !is_bounded                   ? std::numeric_limits<std::uint64_t>::max()
                                  : options.timeline_events > 0 ? options.timeline_events
                                                                : kTimelineEvents);
  trace.ranks = std::move(part.ranks);
  trace.first_step = part.first_step;
  trace.left_out = std::move(part.left_out);
  const bool is_large = part.events > kTimelineEvents && !options.timeline_per_rank;
  const std::string usual = is_large ? fmt::format("timeline{}", kPerfettoEnding) : "timeline.json.gz";
  trace.path = folder / (options.timeline.empty() ? usual : options.timeline);
  trace.nccl_names = options.hta_names ? NcclNames::Kernel : NcclNames::DevKernel;
  return trace;
}

void check_name(const RunOptions& options) {
  const std::string& name = options.timeline;
  if (name.empty()) {
    return;
  }
  if (name != std::filesystem::path{name}.filename() || !name.starts_with("timeline.") ||
      !(name.ends_with(".json.gz") || name.ends_with(kPerfettoEnding))) {
    throw std::invalid_argument{fmt::format(
        "--timeline {}: expected timeline.json.gz or timeline{}; -o says the folder", name, kPerfettoEnding)};
  }
  if (options.timeline_per_rank && name.ends_with(kPerfettoEnding)) {
    throw std::invalid_argument{fmt::format("--timeline {}: --timeline-per-rank writes .json.gz", name)};
  }
}

MemoryRecorderOptions memory_options(const ResolvedScenario& resolved, const ChromeTraceOptions& trace) {
  MemoryRecorderOptions options;
  options.ranks = trace.ranks;
  options.first_step = trace.first_step;
  for (const MemoryBreakdown& peak : resolved.job.memory) {
    options.besides.push_back(beside_job(resolved.scenario.memory, peak));
  }
  return options;
}

}  // namespace

void check_timeline(const RunOptions& options, const ResolvedScenario& resolved) {
  check_name(options);
  (void)asked_timeline_ranks(options, resolved);
}

TimelineRequest RunTimeline::open(const RunOptions& options, const ResolvedScenario& resolved,
                                  const std::filesystem::path& folder,
                                  const std::vector<std::uint32_t>& simulated) {
  const ChromeTraceOptions trace = trace_options(options, resolved, folder, simulated);
  left_out_ = trace.left_out;
  page_.emplace(resolved.job, trace.ranks);
  both_.add(*page_);
  memory_.emplace(resolved.job, memory_options(resolved, trace));
  both_.add(*memory_);
  if (trace.path.extension() == kPerfettoEnding) {
    perfetto_.emplace(resolved.job, resolved.fabric.vertices(),
                      PerfettoTraceOptions{trace.path, trace.ranks, trace.first_step});
    both_.add(*perfetto_);
  } else {
    json_.emplace(resolved.job, resolved.fabric.vertices(), trace);
    both_.add(*json_);
  }
  first_step_ = trace.first_step;
  return {&both_, trace.ranks, observe_links(options, resolved.fabric)};
}

LoadObserver RunTimeline::observe_links(const RunOptions& options, const Fabric& fabric) {
  constexpr std::size_t kMostLinks = 20'000;  // of a larger machine, listening would take longer than the run
  if (options.timeline_links == 0 || options.timeline_per_rank || fabric.links().size() > kMostLinks) {
    return {};
  }
  fabric_ = &fabric;
  loads_.emplace(fabric, LinkLoadLimits{.links = options.timeline_links});
  return [this](LinkId link, double more, double date) { loads_->add(link, more, date); };
}

std::vector<MemoryCourse> RunTimeline::memory() const {
  return memory_ ? memory_->courses() : std::vector<MemoryCourse>{};
}

void RunTimeline::finish(const SimulationResult& result) {
  const std::vector<MemoryCourse> held = memory();
  TimelineTracks tracks{.path = result.path_pieces, .links = {}, .memory = held};
  if (loads_) {
    const double from = first_step_ == 0 ? 0 : result.step_ends[first_step_ - 1];
    tracks.links = link_tracks(*fabric_, loads_->busiest(from, result.step_ends.back()));
  }
  if (json_) {
    json_->finish(tracks);
  }
  if (perfetto_) {
    perfetto_->finish(tracks);
  }
}

std::string RunTimeline::remark(const std::filesystem::path& folder) const {
  std::string text;
  if (json_ && !json_->paths().empty()) {
    text = fmt::format("timeline: {}  (open it in https://ui.perfetto.dev or chrome://tracing)\n",
                       (folder / json_->paths().front().filename()).string());
  }
  if (perfetto_) {
    text = fmt::format("timeline: {}  (open it in https://ui.perfetto.dev)\n",
                       (folder / perfetto_->path().filename()).string());
  }
  return left_out_.empty()
             ? text
             : text + fmt::format("it shows {}; --timeline-events NUMBER shows more\n", left_out_);
}

}  // namespace lockstep
