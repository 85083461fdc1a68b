#include "traces/chakra/latest_trace.hpp"

#include <algorithm>
#include <numeric>

#include "traces/chakra/record_reader.hpp"
#include "traces/chakra/wire_reader.hpp"

namespace lockstep::chakra {
namespace {

constexpr std::size_t kMostBytes = 1U << 24U;  // of a trace that is kept; longer ones are always taken apart

/// Maps ids to places in a graph whose nodes need not stand by ascending id.
class PlacesById {
 public:
  explicit PlacesById(const TraceGraph& graph) : ids_{graph.ids}, places_(graph.size()) {
    std::iota(places_.begin(), places_.end(), 0U);
    if (!std::is_sorted(ids_.begin(), ids_.end())) {
      std::sort(places_.begin(), places_.end(), [&](auto a, auto b) { return ids_[a] < ids_[b]; });
    }
  }
  /// @param id of a node that the graph has
  [[nodiscard]] std::uint32_t of(std::uint64_t id) const {
    return *std::lower_bound(places_.begin(), places_.end(), id,
                             [&](std::uint32_t place, std::uint64_t wanted) { return ids_[place] < wanted; });
  }

 private:
  const std::vector<std::uint64_t>& ids_;
  std::vector<std::uint32_t> places_;  // by ascending id
};

}  // namespace

void LatestTrace::begin() {
  bytes_.clear();
  records_.clear();
  known_ = false;
}

void LatestTrace::add(std::string_view record, const NodeRecord* node) {
  if (bytes_.size() > kMostBytes) {
    return;
  }
  Record added;
  if (node != nullptr) {
    added.id = node->id;
    if (!node->duration.empty()) {
      added.duration = static_cast<std::uint32_t>(node->duration.data() - record.data());
      added.duration_size = static_cast<std::uint32_t>(node->duration.size());
    }
  }
  bytes_.append(record);
  added.end = static_cast<std::uint32_t>(bytes_.size());
  records_.push_back(added);
}

void LatestTrace::finish(const TraceGraph& graph) {
  if (bytes_.size() > kMostBytes) {
    begin();
    return;
  }
  graph_ = graph;
  const PlacesById places{graph};
  std::uint32_t next = 0;
  for (Record& record : records_) {
    if (record.duration_size > 0) {
      const bool follows = next < graph.size() && graph.ids[next] == record.id;
      record.place = follows ? next : places.of(record.id);
      next = record.place + 1;
    }
  }
  known_ = true;
}

/// @param microseconds what @p record has in place of the duration of @p known, if all else is the same
bool LatestTrace::alike(std::string_view record, std::string_view known, const Record& where,
                        std::uint64_t& microseconds) {
  if (record.size() <= where.duration ||
      record.substr(0, where.duration) != known.substr(0, where.duration)) {
    return false;
  }
  try {
    WireReader rest{record.substr(where.duration)};
    microseconds = rest.varint();
    // No duration may be an error of its own, as operations in its place are.
    return microseconds > 0 && rest.rest() == known.substr(where.duration + where.duration_size);
  } catch (const WireError&) {
    return false;
  }
}

bool LatestTrace::read_alike(const std::filesystem::path& path, TraceGraph& graph) const {
  if (!known_) {
    return false;
  }
  RecordReader file{path};
  graph = graph_;
  std::string_view record;
  std::uint32_t begin = 0;
  for (const Record& where : records_) {
    const std::string_view known{bytes_.data() + begin, where.end - begin};
    begin = where.end;
    if (!file.next(record)) {
      return false;
    }
    if (where.duration_size == 0 ? record != known
                                 : !alike(record, known, where, graph.microseconds[where.place])) {
      return false;
    }
  }
  return !file.next(record);
}

}  // namespace lockstep::chakra
