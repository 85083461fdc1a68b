#include "app/report/page_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "app/report/page_memory.hpp"
#include "traces/span_names.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kMostKept = 250'000;  // of a rank: 12 MB

/// Numbers of the names that spans have, in the order in which they are asked for.
class NameTable {
 public:
  std::size_t number(const std::string& name) {
    const auto [place, fresh] = numbers_.try_emplace(name, names_.size());
    if (fresh) {
      names_.push_back(name);
    }
    return place->second;
  }
  [[nodiscard]] std::string json() const {
    return nlohmann::json(names_).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> names_;
};

std::int64_t whole_ns(double seconds) {
  return std::llround(seconds * 1e9);
}

/// A lane of a rank: a host thread, or a stream.
struct LaneKey {
  bool on_gpu = false;
  std::uint8_t number = 0;
  friend auto operator<=>(const LaneKey&, const LaneKey&) = default;
};

std::string lane_name(const Program& program, LaneKey key) {
  return key.on_gpu ? "stream " + program.streams[key.number] : program.threads[key.number].name + " thread";
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The longest @p most of the spans, in order of their starts. @return the duration that all of them reach, s
double keep_longest(std::vector<TimelineSpan>& spans, std::size_t most) {
  double shortest = 0;
  if (spans.size() > most) {
    const auto edge = spans.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(spans.begin(), edge, spans.end(), [](const TimelineSpan& a, const TimelineSpan& b) {
      return a.end - a.start > b.end - b.start;
    });
    shortest = edge->end - edge->start;
    spans.erase(edge, spans.end());
  }
  std::ranges::stable_sort(spans, [](const TimelineSpan& a, const TimelineSpan& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  return shortest;
}

std::string path_json(std::span<const PathPiece> path, std::uint32_t rank, LaneKey key) {
  std::string text;
  std::int64_t before = 0;
  for (const PathPiece& piece : path) {
    if (piece.rank == rank && piece.on_host != key.on_gpu && piece.lane == key.number) {
      const std::int64_t start = whole_ns(piece.start);
      fmt::format_to(std::back_inserter(text), "{}{},{}", text.empty() ? "" : ",", start - before,
                     whole_ns(piece.end) - start);
      before = start;
    }
  }
  return text;
}

}  // namespace

PageTimeline::PageTimeline(const Job& job, std::span<const std::uint32_t> differ)
    : job_{job}, step_{static_cast<std::uint32_t>(job.steps - 1)}, shown_as_(job.ranks.size(), -1) {
  const std::size_t shown = std::min(kMostRanks, differ.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const std::uint32_t rank = differ[i * differ.size() / shown];
    shown_as_[rank] = static_cast<std::int32_t>(ranks_.size());
    ranks_.push_back({rank, {}, 0});
  }
}

void PageTimeline::write(std::span<const TimelineSpan> spans) {
  for (const TimelineSpan& span : spans) {
    if (span.step != step_ || shown_as_[span.rank] < 0) {
      continue;
    }
    ShownRank& rank = ranks_[static_cast<std::size_t>(shown_as_[span.rank])];
    if (rank.spans.size() >= 2 * kMostKept) {
      keep_longest(rank.spans, kMostKept);
      rank.left_out += kMostKept;
    }
    rank.spans.push_back(span);
  }
}

std::string PageTimeline::json(std::span<const double> step_ends) const {
  NameTable names;
  std::string ranks;
  for (const ShownRank& shown : ranks_) {
    std::vector<TimelineSpan> spans = shown.spans;
    const double shorter = keep_longest(spans, kMostSpans / ranks_.size());
    const std::size_t left_out = shown.left_out + shown.spans.size() - spans.size();
    std::map<LaneKey, std::pair<std::string, std::int64_t>> lanes;  // numbers, and the last start
    for (const TimelineSpan& span : spans) {
      const bool on_gpu = is_on_gpu(span);
      auto& [text, before] = lanes[{on_gpu, on_gpu ? span.stream : span.thread}];
      const std::int64_t start = whole_ns(span.start);
      fmt::format_to(std::back_inserter(text), "{}{},{},{}", text.empty() ? "" : ",", start - before,
                     whole_ns(span.end) - start, names.number(span_name(job_, span)));
      if (on_gpu) {
        const bool waits = span.kind == SpanKind::Collective;
        fmt::format_to(std::back_inserter(text), ",{}", waits ? whole_ns(span.transfer_start) - start : -1);
      }
      before = start;
    }
    const Program& program = *job_.programs[job_.ranks[shown.rank].program];
    std::string rows;
    for (const auto& [key, lane] : lanes) {
      rows += fmt::format(R"({}{{"name":{},"gpu":{},"spans":[{}],"path":[{}]}})", rows.empty() ? "" : ",",
                          quoted(lane_name(program, key)), key.on_gpu, lane.first,
                          path_json(path_, shown.rank, key));
    }
    ranks += fmt::format(R"({}{{"rank":{},"left_out":{},"shorter_than":{},"lanes":[{}]}})",
                         ranks.empty() ? "" : ",", shown.rank, left_out, whole_ns(shorter), rows);
  }
  const double step_start = step_ends.size() > 1 ? step_ends[step_ends.size() - 2] : 0;
  return fmt::format(
      R"({{"names":{},"step":{},"step_start":{},"step_end":{},"job_ranks":{},"ranks":[{}],"memory":{}}})",
      names.json(), step_, whole_ns(step_start), whole_ns(step_ends.back()), job_.ranks.size(), ranks,
      page_memory_json(memory_, shown_as_));
}

}  // namespace lockstep
