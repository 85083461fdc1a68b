#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/sweep/sweep_table.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

struct Figure {
  const char* name;
  std::optional<double> SweepRow::*value;
};
/// Names as in metrics.json, where the cost has two.
constexpr Figure kFigures[]{{"step_time_s", &SweepRow::step_time},
                            {"step_time_band_faster", &SweepRow::band_faster},
                            {"step_time_band_slower", &SweepRow::band_slower},
                            {"ranks", &SweepRow::ranks},
                            {"samples_per_s", &SweepRow::samples_per_s},
                            {"tokens_per_s", &SweepRow::tokens_per_s},
                            {"mfu", &SweepRow::mfu},
                            {"memory_peak_bytes", &SweepRow::memory_peak}};

std::string cost_name(const SweepRow& row) {
  return row.cost_is_of_tokens ? "cost_per_million_tokens" : "cost_per_million_samples";
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string safe = "\"";
  for (const char c : text) {
    safe += c == '"' ? "\"\"" : std::string{c};
  }
  return safe + "\"";
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

Json json_of(const SweepTable& table, const SweepRow& row) {
  Json values = Json::object();
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!row.labels[i].empty()) {
      values[table.columns[i]] = row.labels[i];
    }
  }
  Json json{{"values", values}, {"exit_code", row.outcome.exit_code}};
  if (!row.is_done()) {
    json["message"] = row.outcome.message;
  }
  for (const Figure& figure : kFigures) {
    if (row.*figure.value) {
      json[figure.name] = *(row.*figure.value);
    }
  }
  if (row.cost) {
    json[cost_name(row)] = *row.cost;
  }
  if (!row.bottleneck.empty()) {
    json["bottleneck"] = row.bottleneck;
  }
  json["key"] = row.key;
  return json;
}

}  // namespace

std::string sweep_csv(const SweepTable& table) {
  std::string text;
  for (const std::string& column : table.columns) {
    text += quoted(column) + ",";
  }
  text += "exit_code,";
  for (const Figure& figure : kFigures) {
    text += std::string{figure.name} + ",";
  }
  text += "cost_per_million_tokens,cost_per_million_samples,bottleneck,message,key\r\n";
  for (const SweepRow& row : table.rows) {
    for (const std::string& label : row.labels) {
      text += quoted(label) + ",";
    }
    text += fmt::format("{},", row.outcome.exit_code);
    for (const Figure& figure : kFigures) {
      text += number(row.*figure.value) + ",";
    }
    const std::string cost = number(row.cost);
    text += row.cost_is_of_tokens ? cost + ",," : "," + cost + ",";
    text += quoted(row.bottleneck) + "," + quoted(row.outcome.message) + "," + row.key + "\r\n";
  }
  return text;
}

std::string sweep_json(const SweepTable& table) {
  Json json{{"name", table.name}, {"columns", table.columns}};
  const auto best = best_row(table);
  json["best"] = best ? Json(*best) : Json(nullptr);
  json["points"] = Json::array();
  for (const SweepRow& row : table.rows) {
    json["points"].push_back(json_of(table, row));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
