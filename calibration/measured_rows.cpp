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
#include "base/yaml_document.hpp"
#include "base/yaml_reader.hpp"
#include "base/yaml_text.hpp"
#include "calibration/collectives/measured_machine.hpp"
#include "calibration/kernels/operator_kernels.hpp"
#include "ops/collectives/collective_settings.hpp"
#include "ops/gpu/gpu_access.hpp"
#include "ops/kernel_model.hpp"
#include "ops/workload/rank_placement.hpp"
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

/// Predicts each row, or says what is wrong with it.
template <class Predict>
std::vector<PredictedTimes> row_by_row(std::span<const ScenarioSettings> rows, const Predict& predict) {
  std::vector<PredictedTimes> times;
  for (const ScenarioSettings& row : rows) {
    PredictedTimes& of_row = times.emplace_back();
    try {
      of_row = predict(row);
    } catch (const InputError& problem) {
      of_row.refused = problem.problems().front().message;
    } catch (const std::invalid_argument& problem) {
      of_row.refused = problem.what();
    }
  }
  return times;
}

/// The GPUs that a row's collective is on.
struct RowGroup {
  int nodes = 1, gpus_per_node = 1;
  [[nodiscard]] int gpus() const { return nodes * gpus_per_node; }
};

/// Clusters as NCCL takes them under the settings of collectives, each built once.
class Machines {
 public:
  explicit Machines(const ConfigPath& configs) : configs_{configs} {}

  /// @param settings keys that a scenario has under `collectives`
  MeasuredMachine& of(const std::string& cluster, const ScenarioSettings& settings, RowGroup group) {
    std::unique_ptr<Entry>& entry = known_[{cluster, settings, group.nodes, group.gpus()}];
    if (!entry) {
      YamlDocument document = YamlDocument::from_text("{}\n", "a row");
      for (const auto& [key, value] : settings) {
        document.set(key, quoted_if_needed(value));
      }
      const auto read = read_document<CollectiveSettings>(document, configs_);
      if (!read.profile) {
        throw std::invalid_argument{"the row does not say its 'profile'"};
      }
      const Fabric drawn = placed(read_cluster(cluster, configs_).fabric(), group);
      PeerAccess access{access_of_models(drawn, configs_), {}, static_cast<std::size_t>(group.gpus())};
      access.level = {read.p2p_level, read.net_gdr_level};
      entry = std::make_unique<Entry>(with_peer_access(drawn, access), options_of(read, **read.profile));
    }
    return entry->machine;
  }

 private:
  struct Entry {
    Entry(Fabric of_cluster, CollectiveOptions options)
        : fabric{std::move(of_cluster)}, machine{fabric, std::move(options)} {}
    Fabric fabric;
    MeasuredMachine machine;
  };

  /// The first GPUs of the first nodes are the first ranks.
  static Fabric placed(const Fabric& fabric, RowGroup group) {
    RankPlacement placement;
    placement.per_node = group.gpus_per_node;
    return fabric.with_rank_order(gpus_by_rank(placement, fabric));
  }

  const ConfigPath& configs_;
  std::map<std::tuple<std::string, ScenarioSettings, int, int>, std::unique_ptr<Entry>> known_;
};

/// @throws std::invalid_argument for what has no model
CollectiveKind kind_of(const std::string& program) {
  if (program == "sendrecv" || program == "sendrecv_perf") {
    return CollectiveKind::Send;
  }
  const auto kind = nccl_tests_kind(program);
  if (!kind) {
    throw std::invalid_argument{fmt::format("collective: '{}' has no model here", program)};
  }
  return *kind;
}

CollectiveMeasurement collective_in(ScenarioSettings& settings) {
  const CollectiveKind kind = kind_of(take(settings, "collective"));
  const auto nodes = static_cast<int>(settings.contains("nodes") ? count_in(settings, "nodes") : 1);
  const auto gpus = static_cast<int>(count_in(settings, "gpus"));
  if (gpus < 2) {
    throw std::invalid_argument{"gpus: a collective has 2 or more, not 1"};
  }
  if (gpus % nodes != 0) {
    throw std::invalid_argument{fmt::format("{} GPUs on {} nodes are not equally many on each", gpus, nodes)};
  }
  return {.kind = kind,
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
  return {.step = time, .gpu_busy = Seconds{0}, .band = band_alone(off / time), .in_range = in_range};
}

}  // namespace

std::vector<PredictedTimes> predict_kernels(std::span<const ScenarioSettings> rows,
                                            const ConfigPath& configs) {
  std::map<std::string, GpuSpec> gpus;
  return row_by_row(rows, [&](ScenarioSettings settings) {
    const std::string gpu = take(settings, "gpu");
    if (!gpus.contains(gpu)) {
      gpus.emplace(gpu, read_file<GpuSpec>(configs.find_or_file(GpuSpec::kConfigKind, gpu), configs));
    }
    const std::string family = take(settings, "family"), type = take(settings, "type");
    return one_after_the_other(operator_kernels(family, type, settings), gpus.at(gpu));
  });
}

std::vector<PredictedTimes> predict_collectives(std::span<const ScenarioSettings> rows,
                                                const ConfigPath& configs) {
  Machines machines{configs};
  return row_by_row(rows, [&](ScenarioSettings settings) {
    const std::string cluster = take(settings, "cluster");
    const CollectiveMeasurement row = collective_in(settings);
    const RowGroup group{row.nodes, row.gpus_per_node};
    const MeasuredMachine::Planned planned = machines.of(cluster, settings, group).planned(row);
    return PredictedTimes{planned.time, Seconds{0}, band_alone(planned.band)};
  });
}

}  // namespace lockstep
