#include "app/validation_json.hpp"

#include <nlohmann/json.hpp>

#include "calibration/plan_picks.hpp"
#include "calibration/validation_figures.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json time_json(const ComparedTime& time, const ValidationSet& set) {
  Json json{{"measured_s", time.measured.in_base_units()},
            {"predicted_s", time.predicted.in_base_units()},
            {"error", time.error()}};
  if (const auto inside = time.is_inside()) {
    json["band"] = {{"faster", time.band->faster}, {"slower", time.band->slower}};
    json["inside_band"] = *inside;
  }
  for (std::size_t i = 0; i < time.others.size(); ++i) {
    if (time.others[i]) {
      json["others"][set.others[i].name] = *time.others[i];
    }
  }
  return json;
}

Json summary_json(const ErrorSummary& errors) {
  return {{"points", errors.count}, {"geometric_mean", errors.geometric_mean},  {"median", errors.median},
          {"mean", errors.mean},    {"ninetieth_percentile", errors.ninetieth}, {"largest", errors.largest},
          {"bias", errors.bias}};
}

Json errors_json(const Validation& validation, ComparedQuantity quantity) {
  Json lines = Json::array();
  for (const ErrorLine& line : error_lines(validation, quantity)) {
    Json json;
    if (!line.column.empty()) {
      json[line.column] = line.cell;
    }
    json["lockstep"] = summary_json(line.ours);
    if (line.inside) {
      json["lockstep"]["inside_band"] = *line.inside;
    }
    for (std::size_t i = 0; i < line.others.size(); ++i) {
      if (line.others[i].count > 0) {
        json["others"][validation.set.others[i].name] = summary_json(line.others[i]);
      }
    }
    lines.push_back(std::move(json));
  }
  return lines;
}

Json order_json(const Validation& validation) {
  const StepOrder order = step_order(validation);
  Json json;
  if (order.overall) {
    json["all_points"] = *order.overall;
  }
  if (order.families > 0) {
    Json lowest;
    for (std::size_t i = 0; i < order.lowest_family.size(); ++i) {
      lowest[validation.set.family[i]] = order.lowest_family[i];
    }
    json["families"] = {{"count", order.families},          {"median", order.median},
                        {"lowest", order.lowest},           {"lowest_family", std::move(lowest)},
                        {"mean_regret", order.mean_regret}, {"largest_regret", order.largest_regret}};
  }
  return json;
}

Json quality_json(const PickQuality& quality) {
  return {{"exact", quality.exact},
          {"close", quality.close},
          {"mean_regret", quality.mean_regret},
          {"largest_regret", quality.largest_regret}};
}

}  // namespace

std::string validation_json(const Validation& validation) {
  Json json{{"name", validation.set.name},
            {"title", validation.set.title},
            {"predicts", name_of(validation.set.predicts)}};
  const std::string duration = name_of(duration_of(validation.set.predicts));
  json["left_out_rows"] = validation.left_out;
  json["every"] = validation.every;
  if (validation.set.predicts == PredictedThing::Kernel) {
    json["out_of_range"] = points_out_of_range(validation);
  }
  json["refused"] = Json::array();
  for (const RefusedRow& row : validation.refused) {
    json["refused"].push_back({{"file", row.at.file}, {"line", row.at.line}, {"why", row.why}});
  }
  json["points"] = Json::array();
  for (const ValidationPoint& point : validation.points) {
    Json of_point;
    for (std::size_t i = 0; i < point.labels.size(); ++i) {
      // A set of collectives may have a column 'collective', which is the duration's key, too.
      const std::string& column = validation.columns[i];
      of_point[column == duration ? column + "_name" : column] = point.labels[i];
    }
    of_point[duration] = time_json(point.step, validation.set);
    if (point.gpu_busy) {
      of_point["gpu_busy"] = time_json(*point.gpu_busy, validation.set);
    }
    if (point.spread > 0) {
      of_point["spread"] = point.spread;
    }
    if (!point.in_range) {
      of_point["in_range"] = false;
    }
    json["points"].push_back(std::move(of_point));
  }
  for (const ComparedQuantity quantity : validation.set.quantities()) {
    json["errors"][name_of(quantity)] = errors_json(validation, quantity);
  }
  for (const auto& [aim, reached] : reached_aims(validation)) {
    json["aims"].push_back({{"of", name_of(aim.of)},
                            {"figure", name_of(aim.figure)},
                            {"below", aim.below},
                            {"reached", reached}});
  }
  if (validation.set.predicts == PredictedThing::Step) {
    json["rank_correlation_of_step"] = order_json(validation);
  }
  if (const auto picks = plan_picks(validation)) {
    json["picks"] = {{"within", validation.set.picks->within},
                     {"groups", picks->groups},
                     {"lockstep", quality_json(picks->ours)},
                     {"chance", quality_json(picks->chance)}};
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
