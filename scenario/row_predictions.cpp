#include "scenario/row_predictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/error.hpp"
#include "base/forked_workers.hpp"
#include "base/yaml_document.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/band.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/prediction.hpp"
#include "scenario/time_shares.hpp"
#include "scenario/trust.hpp"
#include "sim/stall.hpp"

namespace lockstep {
namespace {

constexpr int kBug = 1;  // exit code, as main()

/// Prints a row on standard output, read back by times_in(): the numbers of PredictedTimes, and the length of
/// the text that refuses it, with that text behind.
void print(const PredictedTimes& times) {
  const Band band = times.band.value_or(Band{});
  fmt::print("{} {} {:d} {} {} {} {} {:d} {} {}\n", times.step.in_base_units(),
             times.gpu_busy.in_base_units(), times.band.has_value(), band.faster, band.slower, times.spread,
             times.kernels, times.in_range, times.refused.size(), times.refused);
}

std::vector<PredictedTimes> times_in(const std::string& printed) {
  std::vector<PredictedTimes> all;
  std::istringstream in{printed};
  std::size_t refused = 0;
  Band band;
  bool has_band = false, in_range = true;
  for (double step = 0, busy = 0, spread = 0, kernels = 0; in >> step >> busy >> has_band >> band.faster >>
                                                           band.slower >> spread >> kernels >> in_range >>
                                                           refused;) {
    PredictedTimes& times =
        all.emplace_back(PredictedTimes{Seconds{step}, Seconds{busy}, {}, spread, kernels, in_range});
    times.band = has_band ? std::optional{band} : std::nullopt;
    times.refused.resize(refused);
    in.get();
    in.read(times.refused.data(), static_cast<std::streamsize>(refused));
  }
  return all;
}

bool is_kernel(const KernelCall& call) {
  return !std::holds_alternative<Memcpy>(call.work) && !std::holds_alternative<Memset>(call.work);
}

/// That rank @p of launches in a step, those of collectives aside.
std::size_t kernels_of(const RankAssignment& of, const Job& job) {
  const Program& program = *job.programs[of.program];
  std::size_t kernels = 0;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op != Opcode::Launch) continue;
      const std::uint32_t kernel =
          instruction.per_rank ? of.kernel_slots[instruction.operand] : instruction.operand;
      kernels += is_kernel(program.kernels[kernel]) ? 1 : 0;
    }
  }
  return kernels;
}

/// The mean number of kernels over the metered ranks.
double kernels_per_step(const Job& job, const SimulationResult& result) {
  std::size_t sum = 0;
  for (const MeteredRank& rank : result.metered) {
    sum += kernels_of(job.ranks[rank.rank], job);
  }
  return static_cast<double>(sum) / static_cast<double>(result.metered.size());
}

PredictedTimes refused(std::string why) {
  PredictedTimes times;
  times.refused = std::move(why);
  return times;
}

/// The faults of settings, without the place in a text that nobody wrote.
std::string in_words(const InputError& problem) {
  std::string text;
  for (const Problem& each : problem.problems()) {
    text += (text.empty() ? "" : "; ") + each.message;
  }
  return text;
}

YamlDocument document_of(const std::string& name, const ScenarioSettings& settings) {
  YamlDocument document = YamlDocument::from_text(fmt::format("name: a row of {}\n", name), name);
  for (const auto& [key, value] : settings) {
    document.set(key, value);
  }
  return document;
}

/// A child's life. @return the exit code
int predict_and_print(const RowSet& set, std::span<const ScenarioSettings> rows) {
  try {
    for (const PredictedTimes& times : set.predict(rows)) {
      print(times);
    }
    return 0;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}", problem.what());
    return kBug;
  }
}

/// Some rows of a set, which one process predicts.
struct RowTask {
  std::size_t set = 0;
  std::span<const ScenarioSettings> rows;
};

/// The unlike rows of a set, in order, and which of them each row is: what was measured several times is
/// predicted once.
class UnlikeRows {
 public:
  explicit UnlikeRows(std::span<const ScenarioSettings> rows) {
    std::map<ScenarioSettings, std::size_t> known;
    for (const ScenarioSettings& row : rows) {
      const auto [entry, is_new] = known.try_emplace(row, rows_.size());
      if (is_new) {
        rows_.push_back(row);
      }
      number_of_.push_back(entry->second);
    }
  }

  [[nodiscard]] std::span<const ScenarioSettings> rows() const { return rows_; }

  /// @param times of rows()
  [[nodiscard]] std::vector<PredictedTimes> of_all(const std::vector<PredictedTimes>& times) const {
    std::vector<PredictedTimes> all;
    all.reserve(number_of_.size());
    for (const std::size_t number : number_of_) {
      all.push_back(times.at(number));
    }
    return all;
  }

 private:
  std::vector<ScenarioSettings> rows_;
  std::vector<std::size_t> number_of_;
};

std::vector<RowTask> tasks_of(std::span<const RowSet> sets, const std::vector<UnlikeRows>& unlike) {
  std::vector<RowTask> tasks;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    const std::span<const ScenarioSettings> rows = unlike[set].rows();
    const std::size_t of_a_task = sets[set].rows_of_a_task;
    for (std::size_t first = 0; first < rows.size(); first += of_a_task) {
      tasks.push_back({set, rows.subspan(first, std::min(of_a_task, rows.size() - first))});
    }
  }
  return tasks;
}

}  // namespace

PredictedTimes predict_row(const std::string& name, const ScenarioSettings& settings,
                           const ConfigPath& configs, EngineMode engine) {
  const ResolvedScenario resolved = build(document_of(name, settings), configs);
  const SimulationResult result = predict(resolved, nullptr, engine);
  const StepBand band = step_band(resolved, result);
  return {result.mean_step(), Seconds{gpu_busy_per_step(result, resolved.job.steps)}, around(band),
          band.relative, kernels_per_step(resolved.job, result)};
}

std::vector<PredictedTimes> predict_steps(const std::string& name, std::span<const ScenarioSettings> rows,
                                          const ConfigPath& configs) {
  std::vector<PredictedTimes> all;
  for (const ScenarioSettings& row : rows) {
    try {
      all.push_back(predict_row(name, row, configs, EngineMode::Bare));
    } catch (const InputError& problem) {
      all.push_back(refused(in_words(problem)));
    } catch (const StallError& problem) {
      all.push_back(refused(problem.what()));
    } catch (const OutOfMemoryError& problem) {
      all.push_back(refused(problem.what()));
    }
  }
  return all;
}

RowSet step_rows(const std::string& name, std::span<const ScenarioSettings> rows, const ConfigPath& configs) {
  const auto predict = [name, configs](std::span<const ScenarioSettings> some) {
    return predict_steps(name, some, configs);
  };
  return {rows, predict};
}

std::vector<std::vector<PredictedTimes>> predict_side_by_side(std::span<const RowSet> sets, std::size_t jobs,
                                                              const std::function<void(std::size_t)>& ended) {
  std::vector<UnlikeRows> unlike;
  for (const RowSet& set : sets) unlike.emplace_back(set.rows);
  const std::vector<RowTask> tasks = tasks_of(sets, unlike);
  std::vector<std::vector<PredictedTimes>> times(tasks.size());
  std::vector<std::size_t> left(sets.size(), 0);
  for (const RowTask& task : tasks) ++left[task.set];
  ForkedWorkers workers{tasks.size(), {jobs}, [&](std::size_t task) {
                          return predict_and_print(sets[tasks[task].set], tasks[task].rows);
                        }};
  for (std::size_t done = 0; done < tasks.size();) {
    const std::vector<EndedTask> now = workers.wait(std::chrono::seconds{1});
    if (workers.interruption() != 0) {
      end_by(workers.interruption());
    }
    for (const EndedTask& task : now) {
      if (task.exit_code != 0) {
        throw std::runtime_error{
            fmt::format("a process that predicts rows ended with code {}: {}", task.exit_code, task.said)};
      }
      times[task.task] = times_in(task.printed);
      ++done;
      if (--left[tasks[task.task].set] == 0) {
        ended(tasks[task.task].set);
      }
    }
  }
  std::vector<std::vector<PredictedTimes>> of_sets(sets.size());
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    std::ranges::move(times[task], std::back_inserter(of_sets[tasks[task].set]));
  }
  for (std::size_t set = 0; set < sets.size(); ++set) {
    of_sets[set] = unlike[set].of_all(of_sets[set]);
  }
  return of_sets;
}

}  // namespace lockstep
