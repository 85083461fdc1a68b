#include "scenario/row_predictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>
#include <stdexcept>

#include "base/error.hpp"
#include "base/forked_tasks.hpp"
#include "base/yaml_document.hpp"
#include "calibration/band.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/prediction.hpp"
#include "scenario/time_shares.hpp"
#include "scenario/trust.hpp"
#include "sim/stall.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kRowsOfATask =
    8;                   // so few that processes end together, so many that forks cost nothing
constexpr int kBug = 1;  // exit code, as main()

/// Prints a row on standard output, read back by times_in(): the numbers of PredictedTimes, and the length of
/// the text that refuses it, with that text behind.
void print(const PredictedTimes& times) {
  const Band band = times.band.value_or(Band{});
  fmt::print("{} {} {} {} {} {} {} {}\n", times.step.in_base_units(), times.gpu_busy.in_base_units(),
             band.faster, band.slower, times.spread, times.kernels, times.refused.size(), times.refused);
}

std::vector<PredictedTimes> times_in(const std::string& printed) {
  std::vector<PredictedTimes> all;
  std::istringstream in{printed};
  std::size_t refused = 0;
  Band band;
  for (double step = 0, busy = 0, spread = 0, kernels = 0;
       in >> step >> busy >> band.faster >> band.slower >> spread >> kernels >> refused;) {
    PredictedTimes& times =
        all.emplace_back(PredictedTimes{Seconds{step}, Seconds{busy}, band, spread, kernels});
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

/// A child's life. @return the exit code
int predict_and_print(const std::string& name, std::span<const ScenarioSettings> rows,
                      const ConfigPath& configs) {
  for (const ScenarioSettings& row : rows) {
    try {
      print(predict_row(name, row, configs, EngineMode::Bare));
    } catch (const InputError& problem) {
      print(refused(in_words(problem)));
    } catch (const StallError& problem) {
      print(refused(problem.what()));
    } catch (const OutOfMemoryError& problem) {
      print(refused(problem.what()));
    } catch (const std::exception& problem) {
      fmt::print(stderr, "{}", problem.what());
      return kBug;
    }
  }
  return 0;
}

}  // namespace

PredictedTimes predict_row(const std::string& name, const ScenarioSettings& settings,
                           const ConfigPath& configs, EngineMode engine) {
  YamlDocument document = YamlDocument::from_text(fmt::format("name: a row of {}\n", name), name);
  for (const auto& [key, value] : settings) {
    document.set(key, value);
  }
  const ResolvedScenario resolved = build(document, configs);
  const SimulationResult result = predict(resolved, nullptr, engine);
  const StepBand band = step_band(resolved, result);
  return {result.mean_step(), Seconds{gpu_busy_per_step(result, resolved.job.steps)}, around(band),
          band.relative, kernels_per_step(resolved.job, result)};
}

std::vector<PredictedTimes> predict_rows(const std::string& name, std::span<const ScenarioSettings> rows,
                                         const ConfigPath& configs, std::size_t jobs) {
  const std::size_t tasks = (rows.size() + kRowsOfATask - 1) / kRowsOfATask;
  std::map<std::size_t, EndedTask> ended;
  ForkedTasks children;
  for (std::size_t started = 0; ended.size() < tasks;) {
    for (; started < tasks && children.running() < jobs; ++started) {
      const std::size_t first = started * kRowsOfATask;
      const auto share = rows.subspan(first, std::min(kRowsOfATask, rows.size() - first));
      children.start(started, [&] { return predict_and_print(name, share, configs); });
    }
    std::vector<EndedTask> now = children.wait(std::chrono::seconds{1});
    if (children.interruption() != 0) {
      end_by(children.interruption());
    }
    for (EndedTask& task : now) {
      if (task.exit_code != 0) {
        throw std::runtime_error{
            fmt::format("a process that predicts rows ended with code {}: {}", task.exit_code, task.said)};
      }
      ended.emplace(task.task, std::move(task));
    }
  }
  std::vector<PredictedTimes> all;
  for (const auto& [number, task] : ended) {
    const std::vector<PredictedTimes> times = times_in(task.printed);
    all.insert(all.end(), times.begin(), times.end());
  }
  return all;
}

}  // namespace lockstep
