#include "search/plans/plan_search_result.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep {

PlanSearchResult::EstimateErrors PlanSearchResult::estimate_errors() const {
  EstimateErrors errors;
  double count = 0;
  for (const FoundPlan& plan : plans) {
    if (plan.is_estimated()) {
      const double error = plan.estimate.step.in_base_units() / plan.evaluation->step - 1;
      errors.mean += std::abs(error);
      errors.least = std::min(errors.least, error);
      errors.most = std::max(errors.most, error);
      ++count;
    }
  }
  errors.mean /= std::max(count, 1.0);
  return errors;
}

std::vector<FoundPlan> front_of(const std::vector<FoundPlan>& plans) {
  std::vector<PlanFigures> figures;
  for (const FoundPlan& plan : plans) {
    figures.push_back(plan.figures());
  }
  std::vector<FoundPlan> front;
  for (const std::size_t i : pareto_front(figures)) {
    front.push_back(plans[i]);
  }
  return front;
}

}  // namespace lockstep
