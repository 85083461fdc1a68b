#include "app/plans/plan_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "base/parse_units.hpp"
#include "search/plans/plan_choices.hpp"

namespace lockstep {

PlanSpace space_with_only(const PlanProblem& problem, const std::vector<std::string>& only) {
  PlanSpace space = usual_space(problem);
  for (const std::string& choice : only) {
    const auto equals = choice.find('=');
    if (equals == std::string::npos) {
      throw std::invalid_argument{fmt::format("--only {}: expected KEY=A,B, e.g. tensor=4,8", choice)};
    }
    std::vector<std::string> values;
    std::istringstream list{choice.substr(equals + 1)};
    for (std::string value; std::getline(list, value, ',');) {
      values.push_back(value);
    }
    if (values.empty() || std::ranges::count(values, "") > 0) {
      throw std::invalid_argument{
          fmt::format("--only {}: a choice is missing; expected KEY=A,B, e.g. tensor=4,8", choice)};
    }
    space = restricted(std::move(space), choice.substr(0, equals), values);
  }
  return space;
}

std::chrono::duration<double> search_budget(const std::string& text) {
  Seconds budget;
  try {
    parse(text, budget);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument{fmt::format("--budget {}: {}; e.g. 10s", text, problem.what())};
  }
  if (!(budget > Seconds{0})) {
    throw std::invalid_argument{fmt::format("--budget {}: more than 0 s, e.g. 10s", text)};
  }
  return std::chrono::duration<double>{budget.in_base_units()};
}

}  // namespace lockstep
