#include "app/sweep/point_record.hpp"

#include <nlohmann/json.hpp>

#include "app/manifest.hpp"
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
  if (const auto band = metrics.find("step_time_band"); band != metrics.end() && band->is_object()) {
    row.band_faster = figure(*band, "faster");
    row.band_slower = figure(*band, "slower");
  }
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

bool has_text(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string();
}

/// Whole, and of the types that write_record() gives it: nobody has edited or torn it.
bool is_record(const Json& json, const std::string& key) {
  if (!json.is_object() || !has_text(json, "key") || json["key"] != key || !json.contains("exit_code") ||
      !json["exit_code"].is_number_integer()) {
    return false;
  }
  if (json["exit_code"] != kExitOk) {
    return has_text(json, "message");
  }
  const auto metrics = json.find("metrics");
  return has_text(json, "effective") && metrics != json.end() && metrics->is_object() &&
         figure(*metrics, "step_time_s") && figure(*metrics, "ranks") && has_text(*metrics, "bottleneck");
}

/// The configuration beside the record of a point that is done is the one that it was made of.
bool has_effective(const Json& json, const std::filesystem::path& effective) {
  std::error_code absent;
  return json["exit_code"] != kExitOk ||
         (std::filesystem::exists(effective, absent) && entry_of(effective).fingerprint == json["effective"]);
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

std::filesystem::path effective_path(const std::filesystem::path& folder, const std::string& key) {
  return points_folder(folder) / (key + ".yaml");
}

void write_record(const std::filesystem::path& folder, const PointRecord& record) {
  Json json{{"key", record.key}, {"exit_code", record.outcome.exit_code}};
  if (record.outcome.exit_code == kExitOk) {
    write_whole_file(effective_path(folder, record.key), record.effective);
    json["effective"] = entry_of(effective_path(folder, record.key)).fingerprint;
    json["metrics"] = Json::parse(record.metrics);
    json["metrics"].erase("wall_s");  // two processes write the same bytes
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
  const Json json = Json::parse(read_own_file(path), nullptr, false);
  if (!is_record(json, key) || !has_effective(json, effective_path(folder, key))) {
    return std::nullopt;
  }
  SweepRow row;
  row.key = key;
  row.outcome = {json["exit_code"].get<int>(), json.value("message", "")};
  if (row.is_done()) {
    read_metrics(json["metrics"], row);
  }
  return row;
}

}  // namespace lockstep
