#include "traces/pipeline/stragglers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "traces/pipeline/step_job.hpp"

namespace lockstep::pipeline {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

/// The parts that @p part_of tells apart, each alone.
template <class Part, class PartOf>
std::vector<Contribution> contributions(const Replay& replay, Delays delays, const StragglerStudy& study,
                                        const PartOf& part_of, const std::string& label) {
  std::set<Part> parts;
  for (const Operation& operation : replay.timeline().operations) {
    parts.insert(part_of(operation, replay.timeline().workers[operation.worker]));
  }
  std::vector<Contribution> list;
  const double lost = study.replayed - study.ideal;
  for (const Part& part : parts) {
    const auto is_it = [&](const Operation& operation, const Worker& worker) {
      return part_of(operation, worker) == part;
    };
    const double alone = replay.mean_step(is_it, delays);
    const double without = replay.mean_step(std::not_fn(is_it), delays);
    list.push_back({fmt::format("{}{}", label, part), alone / study.ideal,
                    lost > 0 ? (study.replayed - without) / lost : 0});
  }
  return list;
}

}  // namespace

Replay::Replay(const Timeline& timeline) : timeline_{timeline} {
  std::map<std::string, std::vector<double>> durations;
  std::set<std::string> computed;
  for (const std::int64_t step : timeline.steps) {
    const StepOrder& order = orders_.emplace_back(order_of(timeline, step));
    for (std::size_t i = 0; i < order.operations.size(); ++i) {
      const OperationType& type = *order.operations[i].type;
      durations[type.type].push_back(order.transfer[i]);
      if (type.partners == Partners::None) {
        computed.insert(type.type);
      }
    }
  }
  for (const auto& [type, seconds] : durations) {
    typical_[type] = computed.contains(type) ? mean(seconds) : median(seconds);
  }
}

std::vector<double> Replay::steps(const Kept& kept, Delays delays) const {
  std::vector<double> result;
  for (const StepOrder& order : orders_) {
    std::vector<double> seconds = order.transfer;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      const Operation& operation = order.operations[i];
      if (!kept(operation, timeline_.workers[operation.worker])) {
        seconds[i] = typical_.at(operation.type->type);
      }
    }
    result.push_back(step_seconds(timeline_, order, seconds, delays == Delays::Recorded));
  }
  return result;
}

double Replay::mean_step(const Kept& kept, Delays delays) const {
  return mean(steps(kept, delays));
}

double Replay::measured() const {
  std::vector<double> seconds;
  for (const StepOrder& order : orders_) {
    seconds.push_back(order.measured);
  }
  return mean(seconds);
}

StragglerStudy study_stragglers(const Replay& replay, Delays delays) {
  StragglerStudy study;
  study.measured = replay.measured();
  study.replayed = replay.mean_step([](const Operation&, const Worker&) { return true; }, delays);
  study.ideal = replay.mean_step([](const Operation&, const Worker&) { return false; }, delays);
  study.slowdown = study.replayed / study.ideal;
  study.stages = contributions<int>(
      replay, delays, study, [](const Operation&, const Worker& worker) { return worker.stage; }, "stage ");
  study.data_ranks = contributions<int>(
      replay, delays, study, [](const Operation&, const Worker& worker) { return worker.data; },
      "data rank ");
  study.types = contributions<std::string>(
      replay, delays, study,
      [](const Operation& operation, const Worker&) { return std::string{operation.type->type}; }, "");
  return study;
}

std::string to_text(const StragglerStudy& study) {
  std::string text = fmt::format(
      "step   measured {:.4f} s   replayed {:.4f} s ({:+.2f} %)   without stragglers {:.4f} s   "
      "slow-down {:.4f}\n",
      study.measured, study.replayed, 100 * (study.replayed / study.measured - 1), study.ideal,
      study.slowdown);
  text += fmt::format("{:28} {:>14} {:>18}\n", "", "alone as is", "explains of loss");
  for (const auto* list : {&study.stages, &study.data_ranks, &study.types}) {
    for (const Contribution& one : *list) {
      text += fmt::format("{:28} {:14.4f} {:16.1f} %\n", one.part, one.alone, 100 * one.explained);
    }
  }
  return text;
}

}  // namespace lockstep::pipeline
