#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/search/search_report.hpp"

namespace lockstep {

std::string search_sentence(const SearchResult& result, const Candidate& best) {
  std::string text = fmt::format("The best plan is {}: {} a step.", best.name, to_string(*best.step));
  if (const Candidate* const rule = result.best_rule(); rule != nullptr && rule != &best) {
    text += fmt::format(" The best simple rule, {}, takes {}, {:+.1f} %.", rule->name, to_string(*rule->step),
                        100 * (*rule->step / *best.step - 1));
  }
  return text;
}

std::string search_json(const SearchResult& result, const Candidate& best) {
  std::vector<const Candidate*> plans;
  for (const Candidate& candidate : result.candidates) {
    plans.push_back(&candidate);
  }
  const auto step_of = [](const Candidate* candidate) {
    return candidate->step ? candidate->step->in_base_units() : std::numeric_limits<double>::infinity();
  };
  std::ranges::stable_sort(plans, std::ranges::less{}, step_of);
  nlohmann::ordered_json json{{"step_s", best.step->in_base_units()}, {"plans", nlohmann::json::array()}};
  for (const Candidate* const candidate : plans) {
    nlohmann::ordered_json row{{"name", candidate->name}};
    if (candidate->step) {
      row["step_s"] = candidate->step->in_base_units();
    } else {
      row["why_none"] = candidate->why_no_step;
    }
    if (!candidate->remark.empty()) {
      row["remark"] = candidate->remark;
    }
    json["plans"].push_back(std::move(row));
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
