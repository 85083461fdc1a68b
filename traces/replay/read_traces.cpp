#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/error.hpp"
#include "sim/log.hpp"
#include "traces/recorded_file.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::replay {
namespace {

namespace fs = std::filesystem;

bool may_be_trace(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz") || name.ends_with(".sqlite");
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
    throw InputError{{path}, "the folder holds no *.json, *.json.gz or *.sqlite file"};
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
      std::vector<kineto::RecordedTrace> read = file == path ? read_recorded(file) : read_if_recorded(file);
      for (const kineto::RecordedTrace& trace : read) {
        log_of(LogComponent::Traces)
            .debug("{}: {} events, {} pieces of GPU work", file, trace.events, trace.work.size());
      }
      std::ranges::move(read, std::back_inserter(traces));
    }
    if (traces.size() == before) {
      throw InputError{
          {path},
          "none of the folder's *.json, *.json.gz and *.sqlite files is a trace of PyTorch's profiler or an "
          "export of Nsight Systems"};
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
