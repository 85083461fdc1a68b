#include "traces/imported_traces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "traces/foreign_profile.hpp"
#include "traces/json_outline.hpp"
#include "traces/kineto/foreign_trace.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/kineto/split_ranks.hpp"
#include "traces/nsys/nsys_reader.hpp"
#include "traces/pytorch_et/trace_reader.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using kineto::RecordedTrace;

bool may_be_trace(const fs::path& path) {
  constexpr std::array kEndings{".json", ".json.gz", ".et", ".et.gz", ".sqlite"};
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

[[noreturn]] void reject(const std::string& file, int line, const std::string& found) {
  throw NoTrace{
      {file, line},
      fmt::format(
          "no trace of a kind that is known, but {}. Looked for were a profile of PyTorch or timeline of "
          "lockstep (a list \"traceEvents\"), an execution trace of PyTorch (\"schema\" and a list "
          "\"nodes\"), a Chakra trace (protobuf, or JSON with \"workload_graph\" or nodes with \"attr\", "
          "\"dataDeps\", \"ctrlDeps\"), a recorded pipeline (\"traceEvents\" named forward-compute, ...)",
          found)};
}

[[noreturn]] void reject(const std::string& file) {
  const JsonOutline outline = outline_of(file);
  reject(file, outline.members.empty() ? 1 : outline.members.front().line, to_text(outline));
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
      } catch (const NoTrace& problem) {
        made_.others.emplace_back(problem.what());
      } catch (const InputError& problem) {
        made_.damaged.emplace_back(problem.what());
      }
    }
    if (count() == before && !made_.damaged.empty()) {
      throw std::invalid_argument{made_.damaged.front()};
    }
    if (count() == before) {
      throw InputError{{path},
                       "none of the folder's *.json, *.et and *.gz files is a trace" +
                           (made_.others.empty() ? "" : ": " + made_.others.front())};
    }
  }

  ImportedTraces finish() && {
    if (profiles_.empty()) {
      return std::move(made_);
    }
    std::ranges::stable_sort(profiles_, {}, &RecordedTrace::rank);
    const bool of_one_job =
        std::ranges::adjacent_find(profiles_, {}, &RecordedTrace::rank) == profiles_.end() &&
        std::ranges::adjacent_find(profiles_, std::ranges::not_equal_to{}, &RecordedTrace::world_size) ==
            profiles_.end();
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
    if (const std::string whose = foreign_file(file); !whose.empty()) {
      throw ForeignTrace{{file}, whose};
    }
    if (is_database(file)) {
      std::ranges::move(nsys::read_nsys(file), std::back_inserter(profiles_));
      return;
    }
    if (chakra::is_chakra(file)) {
      made_.chakra.push_back(chakra::summarise(file));
      return;
    }
    if (!begins_as_json(file)) {
      reject(file, 1, fmt::format("begins with '{}'", beginning_of(file)));
    }
    std::optional<RecordedTrace> trace = kineto::read_if_kineto(file);
    if (!trace) {
      add_execution_trace(file);
    } else if (!holds_nothing(*trace)) {
      std::ranges::move(kineto::split_ranks(std::move(*trace)), std::back_inserter(profiles_));
    } else {
      refuse_others(*trace);
      made_.pipelines.push_back(timeline(file));
    }
  }

  /// @throws ForeignTrace for a profile of another tool
  static void refuse_others(const RecordedTrace& trace) {
    if (const std::string whose = foreign_trace(trace); !whose.empty()) {
      throw ForeignTrace{{trace.file}, whose};
    }
  }

  void add_execution_trace(const std::string& file) {
    std::optional<pytorch_et::ExecutionTrace> trace = pytorch_et::read_if_execution_trace(file);
    if (!trace) {
      reject(file);
    }
    made_.execution_traces.push_back(std::move(*trace));
  }

  static pipeline::Timeline timeline(const std::string& file) {
    try {
      return pipeline::read_timeline(file);
    } catch (const InputError& problem) {
      if (outline_of(file).is_list && outline_of(file).elements > 0) {
        reject(file);
      }
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
