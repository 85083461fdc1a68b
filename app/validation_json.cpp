#include "app/validation_json.hpp"

#include <nlohmann/json.hpp>

#include "calibration/validation_text.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json time_json(const ComparedTime& time, const ValidationSet& set) {
  Json json{{"measured_s", time.measured.in_base_units()},
            {"predicted_s", time.predicted.in_base_units()},
            {"error", time.error()}};
  for (std::size_t i = 0; i < time.others.size(); ++i) {
    if (time.others[i]) {
      json["others"][set.others[i].name] = *time.others[i];
    }
  }
  return json;
}

Json summary_json(const ErrorSummary& errors) {
  return {{"points", errors.count},
          {"geometric_mean", errors.geometric_mean},
          {"mean", errors.mean},
          {"bias", errors.bias},
          {"largest", errors.largest}};
}

Json errors_json(const Validation& validation, ComparedQuantity quantity) {
  Json lines = Json::array();
  for (const ErrorLine& line : error_lines(validation, quantity)) {
    Json json;
    if (!line.column.empty()) {
      json[line.column] = line.cell;
    }
    json["lockstep"] = summary_json(line.ours);
    for (std::size_t i = 0; i < line.others.size(); ++i) {
      if (line.others[i].count > 0) {
        json["others"][validation.set.others[i].name] = summary_json(line.others[i]);
      }
    }
    lines.push_back(std::move(json));
  }
  return lines;
}

}  // namespace

std::string validation_json(const Validation& validation) {
  Json json{{"name", validation.set.name}, {"title", validation.set.title}};
  json["points"] = Json::array();
  for (const ValidationPoint& point : validation.points) {
    Json of_point;
    for (std::size_t i = 0; i < point.labels.size(); ++i) {
      of_point[validation.columns[i]] = point.labels[i];
    }
    of_point["step"] = time_json(point.step, validation.set);
    if (point.gpu_busy) {
      of_point["gpu_busy"] = time_json(*point.gpu_busy, validation.set);
    }
    json["points"].push_back(std::move(of_point));
  }
  json["errors"]["step"] = errors_json(validation, ComparedQuantity::Step);
  if (validation.set.measured.gpu_busy) {
    json["errors"]["gpu_busy"] = errors_json(validation, ComparedQuantity::GpuBusy);
  }
  return json.dump(2) + "\n";
}

}  // namespace lockstep
