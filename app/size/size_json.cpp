#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/plans/plan_text.hpp"
#include "app/size/size_text.hpp"
#include "app/sweep/plot.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

void set_if(Json& json, const char* key, const std::optional<double>& value) {
  if (value) {
    json[key] = *value;
  }
}

Json row_json(const ClusterSize& size) {
  Json row{{"gpus", size.gpus}, {"nodes", size.nodes}, {"complete", size.is_complete}};
  if (size.nics) {
    row["nics_per_node"] = *size.nics;
  }
  if (!size.plan) {
    row["why_none"] = size.why_none;
    return row;
  }
  row["step_time_s"] = size.step();
  if (size.band) {
    row["step_time_band"] = {{"faster", size.band->faster}, {"slower", size.band->slower}};
  }
  set_if(row, "mfu", size.figures.mfu);
  set_if(row, "samples_per_s", size.figures.samples_per_s);
  set_if(row, "tokens_per_s", size.figures.tokens_per_s);
  if (size.figures.tokens_per_s) {
    row["tokens_per_s_per_gpu"] = *size.figures.tokens_per_s / size.gpus;
  }
  row["memory_bytes"] = size.plan->evaluation ? size.plan->evaluation->memory.total().in_base_units()
                                              : size.plan->estimate.memory.in_base_units();
  set_if(row, "days", size.days);
  if (size.days) {
    row["gpu_hours"] = *size.days * 24 * size.gpus;
  }
  set_if(row, "cost_per_million_tokens", size.figures.cost_per_million);
  set_if(row, "cost", size.cost);
  row["plan"] = in_words(size.plan->candidate);
  row["scenario"] = plan_text(*size.evaluator, size.plan->candidate);
  return row;
}

std::string category(const ClusterSize& size) {
  return std::to_string(size.gpus);
}

}  // namespace

std::string size_json(const SizeAnswer& answer, const SizeQuestion& question, const std::string& scenario) {
  Json json = Json::object();
  if (!answer.sizes.empty()) {
    json["name"] = answer.sizes.front().evaluator->scenario().name;
    set_if(json, "price_per_gpu_hour", answer.sizes.front().evaluator->scenario().price_per_gpu_hour);
  }
  set_if(json, "tokens", question.tokens);
  set_if(json, "most_days", question.most_days);
  if (answer.best) {
    json["sentence"] = size_sentence(answer, question, scenario);
    json["best"] = *answer.best;
    json["meets_deadline"] = answer.meets_deadline;
    json["ties"] = answer.ties;
  }
  json["sizes"] = Json::array();
  for (const ClusterSize& size : answer.sizes) {
    json["sizes"].push_back(row_json(size));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string size_svg(const SizeAnswer& answer, const SizeQuestion& question) {
  Plot plot{question.tokens ? "the training, over GPUs" : "tokens a second, over GPUs",
            question.tokens ? "days" : "tokens/s",
            "GPUs",
            {},
            {},
            true};
  for (const ClusterSize& size : answer.sizes) {
    if (plot.categories.empty() || plot.categories.back() != category(size)) {
      plot.categories.push_back(category(size));
    }
    const std::string name = size.nics ? fmt::format("{} NICs a node", *size.nics) : "fastest plan";
    auto series = std::ranges::find(plot.series, name, &PlotSeries::name);
    if (series == plot.series.end()) {
      series = plot.series.insert(series, PlotSeries{name, {}});
    }
    series->values.resize(plot.categories.size());
    series->values.back() = question.tokens ? size.days : size.figures.tokens_per_s;
  }
  return to_svg(plot);
}

}  // namespace lockstep
