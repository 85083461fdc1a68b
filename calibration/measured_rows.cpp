#include "calibration/measured_rows.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <tuple>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/collectives/measured_machine.hpp"
#include "calibration/kernels/operator_kernels.hpp"
#include "ops/kernel_model.hpp"
#include "topology/peer_access.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

/// Takes a key out of the settings. @throws std::invalid_argument when it is not there
std::string take(ScenarioSettings& settings, const std::string& key) {
  const auto found = settings.find(key);
  if (found == settings.end()) {
    throw std::invalid_argument{fmt::format("the row does not say its '{}'", key)};
  }
  std::string value = found->second;
  settings.erase(found);
  return value;
}

double count_in(ScenarioSettings& settings, const std::string& key) {
  const std::string text = take(settings, key);
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || !(value >= 1) ||
      value != std::floor(value)) {
    throw std::invalid_argument{fmt::format("{}: '{}' is no whole number of at least 1", key, text)};
  }
  return value;
}

/// Predicts each row; what is wrong with one is told with its settings.
template <class Predict>
std::vector<PredictedTimes> row_by_row(const std::string& name, std::span<const ScenarioSettings> rows,
                                       const Predict& predict) {
  std::vector<PredictedTimes> times;
  for (const ScenarioSettings& row : rows) {
    try {
      times.push_back(predict(row));
    } catch (const std::invalid_argument& problem) {
      throw RowError{name, fmt::format("{}\n  in the row that sets {}", problem.what(), in_words(row)),
                     times.size()};
    }
  }
  return times;
}

/// Clusters with a profile of collectives, each built once.
class Machines {
 public:
  explicit Machines(const ConfigPath& configs) : configs_{configs} {}

  /// @param level NCCL_P2P_LEVEL, empty: NCCL's own rule. @param gpus that take part
  MeasuredMachine& of(const std::string& cluster, const std::string& profile, const std::string& level,
                      std::size_t gpus) {
    std::unique_ptr<Entry>& entry = known_[{cluster, profile, level, gpus}];
    if (!entry) {
      const Fabric drawn = read_cluster(cluster, configs_).fabric();
      PeerAccess access{access_of_models(drawn, configs_), {}, gpus};
      if (!level.empty()) {
        access.level.p2p = p2p_level_of(level);
      }
      entry = std::make_unique<Entry>(
          with_peer_access(drawn, access),
          read_file<CollectiveProfile>(configs_.find_or_file(CollectiveProfile::kConfigKind, profile),
                                       configs_));
    }
    return entry->machine;
  }

 private:
  struct Entry {
    Entry(Fabric of_cluster, const CollectiveProfile& profile)
        : fabric{std::move(of_cluster)}, machine{fabric, profile} {}
    Fabric fabric;
    MeasuredMachine machine;
  };

  const ConfigPath& configs_;
  std::map<std::tuple<std::string, std::string, std::string, std::size_t>, std::unique_ptr<Entry>> known_;
};

CollectiveMeasurement collective_in(ScenarioSettings& settings) {
  const std::string program = take(settings, "collective");
  const auto kind = nccl_tests_kind(program);
  if (!kind) {
    throw std::invalid_argument{fmt::format("collective: '{}' has no model here", program)};
  }
  const auto nodes = static_cast<int>(settings.contains("nodes") ? count_in(settings, "nodes") : 1);
  const auto gpus = static_cast<int>(count_in(settings, "gpus"));
  if (gpus < 2) {
    throw std::invalid_argument{"gpus: a collective has 2 or more, not 1"};
  }
  if (gpus % nodes != 0) {
    throw std::invalid_argument{fmt::format("{} GPUs on {} nodes are not equally many on each", gpus, nodes)};
  }
  return {.kind = *kind,
          .nodes = nodes,
          .gpus_per_node = gpus / nodes,
          .size = Bytes{count_in(settings, "bytes")},
          .time = {}};
}

/// Bands are taken to err in one direction.
PredictedTimes one_after_the_other(const std::vector<KernelCall>& kernels, const GpuSpec& gpu) {
  Seconds time{0}, off{0};
  bool in_range = true;
  for (const KernelCall& call : kernels) {
    const Prediction prediction = model_for(call).predict(call, gpu);
    time += prediction.duration;
    off += prediction.duration * prediction.band;
    in_range = in_range && prediction.in_range;
  }
  return {.step = time, .gpu_busy = Seconds{0}, .band = off / time, .in_range = in_range};
}

}  // namespace

std::string in_words(const ScenarioSettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  }
  return text;
}

std::vector<PredictedTimes> predict_kernels(const std::string& name, std::span<const ScenarioSettings> rows,
                                            const ConfigPath& configs) {
  std::map<std::string, GpuSpec> gpus;
  return row_by_row(name, rows, [&](ScenarioSettings settings) {
    const std::string gpu = take(settings, "gpu");
    if (!gpus.contains(gpu)) {
      gpus.emplace(gpu, read_file<GpuSpec>(configs.find_or_file(GpuSpec::kConfigKind, gpu), configs));
    }
    const std::string family = take(settings, "family"), type = take(settings, "type");
    return one_after_the_other(operator_kernels(family, type, settings), gpus.at(gpu));
  });
}

std::vector<PredictedTimes> predict_collectives(const std::string& name,
                                                std::span<const ScenarioSettings> rows,
                                                const ConfigPath& configs) {
  Machines machines{configs};
  return row_by_row(name, rows, [&](ScenarioSettings settings) {
    const std::string cluster = take(settings, "cluster"), profile = take(settings, "profile");
    const std::string level = settings.contains("p2p_level") ? take(settings, "p2p_level") : "";
    const CollectiveMeasurement row = collective_in(settings);
    if (!settings.empty()) {
      throw std::invalid_argument{fmt::format(
          "a collective has no key '{}'{}", settings.begin()->first,
          did_you_mean(settings.begin()->first,
                       {"cluster", "profile", "p2p_level", "collective", "nodes", "gpus", "bytes"}))};
    }
    const auto gpus = static_cast<std::size_t>(row.nodes) * static_cast<std::size_t>(row.gpus_per_node);
    const MeasuredMachine::Planned planned = machines.of(cluster, profile, level, gpus).planned(row);
    return PredictedTimes{planned.time, Seconds{0}, planned.band};
  });
}

}  // namespace lockstep
