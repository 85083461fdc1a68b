#include "app/sweep/point_record.hpp"

#include <nlohmann/json.hpp>

#include "base/file.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSignalled = 128;

std::optional<double> figure(const Json& metrics, const char* name) {
  const auto found = metrics.find(name);
  return found != metrics.end() && found->is_number() ? std::optional{found->get<double>()} : std::nullopt;
}

void read_metrics(const Json& metrics, SweepRow& row) {
  row.step_time = figure(metrics, "step_time_s");
  row.step_band = figure(metrics, "step_time_band");
  row.ranks = figure(metrics, "ranks");
  row.samples_per_s = figure(metrics, "samples_per_s");
  row.tokens_per_s = figure(metrics, "tokens_per_s");
  row.mfu = figure(metrics, "mfu");
  if (const auto memory = metrics.find("memory"); memory != metrics.end() && memory->is_object()) {
    row.memory_peak = figure(*memory, "bytes");
  }
  row.cost = figure(metrics, "cost_per_million_tokens");
  row.cost_is_of_tokens = row.cost.has_value();
  if (!row.cost) {
    row.cost = figure(metrics, "cost_per_million_samples");
  }
  row.bottleneck = metrics.value("bottleneck", "");
}

}  // namespace

bool is_final(int exit_code) {
  return exit_code != kExitBug && exit_code < kSignalled;
}

std::filesystem::path points_folder(const std::filesystem::path& folder) {
  return folder / "points";
}

std::filesystem::path record_path(const std::filesystem::path& folder, const std::string& key) {
  return points_folder(folder) / (key + ".json");
}

void write_record(const std::filesystem::path& folder, const PointRecord& record) {
  Json json{{"key", record.key}, {"exit_code", record.outcome.exit_code}};
  if (record.outcome.message.empty()) {
    json["metrics"] = Json::parse(record.metrics);
  } else {
    json["message"] = record.outcome.message;
  }
  write_whole_file(record_path(folder, record.key),
                   json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::optional<SweepRow> read_row(const std::filesystem::path& folder, const std::string& key) {
  std::error_code absent;
  const auto path = record_path(folder, key);
  if (!std::filesystem::exists(path, absent)) {
    return std::nullopt;
  }
  const Json json = Json::parse(read_whole_file(path), nullptr, false);
  try {
    if (!json.is_object() || json.value("key", "") != key || !json.contains("exit_code")) {
      return std::nullopt;
    }
    SweepRow row;
    row.key = key;
    row.outcome = {json.value("exit_code", kExitBug), json.value("message", "")};
    if (const auto metrics = json.find("metrics"); metrics != json.end()) {
      read_metrics(*metrics, row);
    }
    return row;
  } catch (const Json::exception&) {
    return std::nullopt;  // damaged
  }
}

}  // namespace lockstep
