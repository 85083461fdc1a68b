#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "sim/log.hpp"
#include "traces/recorded_file.hpp"
#include "traces/replay/one_job.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::replay {
namespace {

namespace fs = std::filesystem;

bool may_be_trace(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz") || name.ends_with(".sqlite");
}

/// The first folder in @p path that holds what may be a trace; empty: there is none.
std::string folder_with_traces(const fs::path& path) {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator{path}) {
    if (entry.is_directory() &&
        std::ranges::any_of(fs::directory_iterator{entry.path()},
                            [](const auto& file) { return may_be_trace(file.path()); })) {
      folders.push_back(entry.path());
    }
  }
  return folders.empty() ? "" : std::ranges::min(folders).string();
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
    const std::string below = folder_with_traces(path);
    throw InputError{
        {path},
        "the folder holds no *.json, *.json.gz or *.sqlite file" +
            (below.empty() ? ""
                           : fmt::format("; one in it does: name that, as in 'lockstep replay {}'", below))};
  }
  std::ranges::sort(files);
  return files;
}

/// The problem of two recordings of one rank. @param traces sorted by rank
std::vector<Problem> twice_a_rank(std::span<const kineto::RecordedTrace> traces) {
  const auto twice = std::ranges::adjacent_find(traces, {}, &kineto::RecordedTrace::rank);
  if (twice == traces.end()) {
    return {};
  }
  const auto& [before, trace] = std::tie(*twice, *(twice + 1));
  std::string message =
      trace.rank < 0 ? fmt::format("the file does not say its rank, nor does {}: give one of them at a time",
                                   before.file)
                     : fmt::format("of rank {}, as {} is: give the files of one window at a time", trace.rank,
                                   before.file);
  std::vector<Problem> problems(1);
  problems.front().where.file = trace.file;
  problems.front().message = std::move(message);
  return problems;
}

/// Advice on a folder whose recordings are not the ranks of one job.
std::string several_recordings(const std::vector<kineto::RecordedTrace>& traces, const Problem& problem) {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> files;
  for (const kineto::RecordedTrace& trace : traces) {
    files.push_back(fs::path{trace.file}.filename().string());
  }
  std::ranges::sort(files);
  const std::size_t more = files.size() - std::min(files.size(), kMostNamed);
  const auto named = std::span{files}.first(files.size() - more);
  return fmt::format(
      "the folder holds {} recordings that are not the ranks of one job: {}{}. Name one, as in 'lockstep "
      "replay "
      "{}', or those of one job ({}: {})",
      files.size(), fmt::join(named, ", "), more == 0 ? "" : fmt::format(" and {} more", more),
      (fs::path{traces.front().file}.parent_path() / files.front()).string(),
      fs::path{problem.where.file}.filename().string(), problem.message);
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
  std::vector<Problem> problems = twice_a_rank(traces);
  if (problems.empty()) {
    problems = different_jobs(traces);
  }
  if (!problems.empty()) {
    if (paths.size() == 1 && fs::is_directory(paths.front())) {
      throw InputError{{paths.front()}, several_recordings(traces, problems.front())};
    }
    throw InputError{std::move(problems)};
  }
  return traces;
}

std::vector<Problem> different_jobs(std::span<const kineto::RecordedTrace> traces) {
  for (const kineto::RecordedTrace& trace : traces) {
    const kineto::RecordedTrace& first = traces.front();
    if (trace.world_size != first.world_size && trace.world_size > 0 && first.world_size > 0) {
      std::vector<Problem> problems(1);
      problems.front().where.file = trace.file;
      problems.front().message =
          fmt::format("of a job of {} ranks, {} of one of {}: give the traces of one job", trace.world_size,
                      first.file, first.world_size);
      return problems;
    }
  }
  return {};
}

}  // namespace lockstep::replay
