#include "app/imported_traces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>

#include "base/error.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/kineto/split_ranks.hpp"
#include "traces/pytorch_et/trace_reader.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using kineto::RecordedTrace;

bool may_be_trace(const fs::path& path) {
  constexpr std::array kEndings{".json", ".json.gz", ".et", ".et.gz"};
  const std::string name = path.filename().string();
  return std::ranges::any_of(kEndings, [&](const char* ending) { return name.ends_with(ending); });
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator{folder}) {
    if (entry.is_regular_file() && may_be_trace(entry.path())) {
      files.push_back(entry.path().string());
    }
  }
  std::ranges::sort(files);
  return files;
}

bool holds_nothing(const RecordedTrace& trace) {
  return trace.operators.empty() && trace.calls.empty() && trace.work.empty();
}

class Import {
 public:
  void add(const std::string& path) {
    if (!fs::is_directory(path)) {
      return add_file(path);
    }
    const std::size_t before = count();
    for (const std::string& file : files_of(path)) {
      try {
        add_file(file);
      } catch (const InputError& problem) {
        made_.others.emplace_back(problem.what());
      }
    }
    if (count() == before) {
      throw InputError{{path}, "none of the folder's *.json, *.et and *.gz files is a trace"};
    }
  }

  ImportedTraces finish() && {
    if (profiles_.empty()) {
      return std::move(made_);
    }
    std::ranges::stable_sort(profiles_, {}, &RecordedTrace::rank);
    const bool of_one_job =
        std::ranges::adjacent_find(profiles_, {}, &RecordedTrace::rank) == profiles_.end();
    if (of_one_job) {
      made_.replays.push_back(replay::make_replay(std::move(profiles_)));
      return std::move(made_);
    }
    for (RecordedTrace& trace : profiles_) {
      std::vector<RecordedTrace> alone;
      alone.push_back(std::move(trace));
      made_.replays.push_back(replay::make_replay(std::move(alone)));
    }
    return std::move(made_);
  }

 private:
  [[nodiscard]] std::size_t count() const {
    return profiles_.size() + made_.execution_traces.size() + made_.chakra.size() + made_.pipelines.size();
  }

  void add_file(const std::string& file) {
    if (chakra::is_chakra(file)) {
      made_.chakra.push_back(chakra::summarise(file));
      return;
    }
    std::optional<RecordedTrace> trace = kineto::read_if_kineto(file);
    if (!trace) {
      made_.execution_traces.push_back(pytorch_et::read_execution_trace(file));
    } else if (!holds_nothing(*trace)) {
      std::ranges::move(kineto::split_ranks(std::move(*trace)), std::back_inserter(profiles_));
    } else {
      made_.pipelines.push_back(timeline(file));
    }
  }

  static pipeline::Timeline timeline(const std::string& file) {
    try {
      return pipeline::read_timeline(file);
    } catch (const InputError& problem) {
      throw InputError{{file},
                       fmt::format("the trace holds no operators, calls or GPU work, and is no timeline of a "
                                   "pipeline either ({})",
                                   problem.what())};
    }
  }

  std::vector<RecordedTrace> profiles_;
  ImportedTraces made_;
};

}  // namespace

std::vector<const replay::RankRecording*> ImportedTraces::profiles() const {
  std::vector<const replay::RankRecording*> all;
  for (const replay::Replay& replay : replays) {
    for (const replay::RankRecording& rank : replay.ranks) {
      all.push_back(&rank);
    }
  }
  return all;
}

ImportedTraces import_traces(const std::vector<std::string>& paths) {
  Import import;
  for (const std::string& path : paths) {
    import.add(path);
  }
  return std::move(import).finish();
}

}  // namespace lockstep
