#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

#include "base/error.hpp"
#include "sim/log.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/kineto/split_ranks.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::replay {
namespace {

namespace fs = std::filesystem;
using kineto::split_ranks;

bool may_be_trace(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

std::vector<std::string> files_of(const std::string& path) {
  if (!fs::is_directory(path)) {
    return {path};
  }
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator{path}) {
    if (entry.is_regular_file() && may_be_trace(entry.path())) {
      files.push_back(entry.path().string());
    }
  }
  if (files.empty()) {
    throw InputError{{path}, "the folder holds no *.json or *.json.gz file"};
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<kineto::RecordedTrace> read_windows(const std::vector<std::string>& paths) {
  std::vector<kineto::RecordedTrace> traces;
  for (const std::string& path : paths) {
    const std::size_t before = traces.size();
    for (const std::string& file : files_of(path)) {
      std::optional<kineto::RecordedTrace> trace =
          file == path ? kineto::read_kineto(file) : kineto::read_if_kineto(file);
      if (trace) {
        log_of(LogComponent::Traces)
            .debug("{}: {} events, {} pieces of GPU work", file, trace->events, trace->work.size());
        std::ranges::move(split_ranks(std::move(*trace)), std::back_inserter(traces));
      }
    }
    if (traces.size() == before) {
      throw InputError{{path},
                       "none of the folder's *.json and *.json.gz files is a trace of PyTorch's profiler"};
    }
  }
  return traces;
}

std::vector<kineto::RecordedTrace> read_traces(const std::vector<std::string>& paths) {
  std::vector<kineto::RecordedTrace> traces = read_windows(paths);
  std::ranges::stable_sort(traces, {}, &kineto::RecordedTrace::rank);
  for (std::size_t i = 1; i < traces.size(); ++i) {
    if (traces[i].rank == traces[i - 1].rank) {
      throw InputError{
          {traces[i].file},
          traces[i].rank < 0
              ? fmt::format("the file does not say its rank, nor does {}: give one of them at a time",
                            traces[i - 1].file)
              : fmt::format("of rank {}, as {} is: give the files of one window at a time", traces[i].rank,
                            traces[i - 1].file)};
    }
  }
  return traces;
}

}  // namespace lockstep::replay
