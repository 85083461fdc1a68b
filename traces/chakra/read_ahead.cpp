#include "traces/chakra/read_ahead.hpp"

#include <algorithm>
#include <utility>

#include "traces/chakra/latest_trace.hpp"

namespace lockstep::chakra {
namespace {

constexpr std::size_t kAhead = 4;  // traces a reader holds at most that nobody has taken

}  // namespace

ReadAhead::ReadAhead(std::vector<std::filesystem::path> files, std::size_t threads)
    : files_{std::move(files)} {
  const std::size_t count = std::min(std::max<std::size_t>(threads, 1), files_.size());
  for (std::size_t i = 0; i < count; ++i) {
    readers_.push_back(std::make_unique<Reader>());
  }
  for (std::size_t i = 0; i < count; ++i) {
    readers_[i]->thread = std::thread{[this, i] { read_every(*readers_[i], i); }};
  }
}

ReadAhead::~ReadAhead() {
  for (const auto& reader : readers_) {
    const std::lock_guard lock{reader->mutex};
    reader->stopped = true;
    reader->changed.notify_all();
  }
  for (const auto& reader : readers_) {
    reader->thread.join();
  }
}

void ReadAhead::read_every(Reader& reader, std::size_t first) {
  TraceTables tables;
  LatestTrace latest;
  for (std::size_t file = first; file < files_.size(); file += readers_.size()) {
    Reading reading;
    {
      std::unique_lock lock{reader.mutex};
      reader.changed.wait(lock, [&] { return reader.stopped || reader.ready.size() < kAhead; });
      if (reader.stopped) {
        return;
      }
      if (!reader.spare.empty()) {
        reading = std::move(reader.spare.back());
        reader.spare.pop_back();
      }
    }
    const std::size_t kinds = tables.kinds();
    const std::size_t calls = tables.calls();
    try {
      read_graph(files_[file], tables, reading.graph, &latest);
    } catch (...) {
      reading.problem = std::current_exception();
    }
    for (std::size_t kind = kinds; kind < tables.kinds(); ++kind) {
      reading.kinds.push_back(tables.kind_name(static_cast<std::uint32_t>(kind)));
    }
    for (std::size_t call = calls; call < tables.calls(); ++call) {
      reading.calls.push_back(tables.call(static_cast<std::uint32_t>(call)));
    }
    const std::lock_guard lock{reader.mutex};
    reader.ready.push_back(std::move(reading));
    reader.changed.notify_all();
  }
}

const TraceGraph& ReadAhead::next(TraceTables& tables) {
  Reader& reader = *readers_[next_++ % readers_.size()];
  {
    std::unique_lock lock{reader.mutex};
    if (current_.graph.size() > 0) {
      reader.spare.push_back(std::move(current_));
    }
    reader.changed.wait(lock, [&] { return !reader.ready.empty(); });
    current_ = std::move(reader.ready.front());
    reader.ready.pop_front();
    reader.changed.notify_all();
  }
  if (current_.problem) {
    std::rethrow_exception(current_.problem);
  }
  renumber(reader, tables, current_);
  return current_.graph;
}

void ReadAhead::renumber(Reader& reader, TraceTables& tables, Reading& reading) {
  for (const std::string& kind : reading.kinds) {
    reader.kinds.push_back(tables.kind(kind));
  }
  for (const TraceTables::Call& call : reading.calls) {
    reader.calls.push_back(tables.number_of(call));
  }
  reading.kinds.clear();
  reading.calls.clear();
  for (std::uint32_t& what : reading.graph.what) {
    const bool is_collective = (what & TraceGraph::kCollective) != 0;
    const bool is_memory = !is_collective && (what & TraceGraph::kMemory) != 0;
    what = is_collective ? reader.calls[what & ~TraceGraph::kCollective] | TraceGraph::kCollective
           : is_memory   ? what
                         : reader.kinds[what];
  }
}

}  // namespace lockstep::chakra
