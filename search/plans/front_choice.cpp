#include "search/plans/front_choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep {
namespace {

bool is_as_good(const PlanFigures& a, const PlanFigures& b) {
  return a.step <= b.step && a.memory <= b.memory && a.gpus <= b.gpus;
}

class FrontChoice {
 public:
  FrontChoice(std::span<const FrontPlan> plans, std::size_t count) : plans_{plans}, count_{count} {
    std::vector<PlanFigures> all, simulated;
    std::vector<std::size_t> numbers;  // of the simulated ones
    for (std::size_t i = 0; i < plans.size(); ++i) {
      all.push_back(plans[i].figures);
      if (plans[i].is_simulated) {
        simulated.push_back(plans[i].figures);
        numbers.push_back(i);
      }
    }
    front_ = pareto_front(all);
    for (const std::size_t i : pareto_front(simulated)) {
      shown_.push_back(numbers[i]);
    }
  }

  std::vector<std::size_t> choose() && {
    for (const std::size_t shown : shown_) {
      if (std::ranges::find(front_, shown) == front_.end()) {
        choose_better(shown);
      }
    }
    for (double PlanFigures::*by : {&PlanFigures::memory, &PlanFigures::step}) {
      while (chosen_.size() < count_ && choose_furthest(by)) {
      }
    }
    return std::move(chosen_);
  }

 private:
  [[nodiscard]] bool is_chosen(std::size_t number) const {
    return std::ranges::find(chosen_, number) != chosen_.end();
  }
  [[nodiscard]] bool is_open(std::size_t number) const {
    return !plans_[number].is_simulated && !is_chosen(number);
  }

  /// The one that seems to be most better, if none of those that do is chosen.
  void choose_better(std::size_t shown) {
    const PlanFigures& known = plans_[shown].figures;
    std::vector<std::size_t> better;
    std::ranges::copy_if(front_, std::back_inserter(better),
                         [&](std::size_t number) { return is_as_good(plans_[number].figures, known); });
    const bool is_one_chosen =
        std::ranges::any_of(better, [&](std::size_t number) { return is_chosen(number); });
    if (!better.empty() && !is_one_chosen && chosen_.size() < count_) {
      chosen_.push_back(*std::ranges::min_element(better, {}, [&](std::size_t number) {
        return plans_[number].figures.step * plans_[number].figures.memory;
      }));
    }
  }

  /// @return whether there is one
  bool choose_furthest(double PlanFigures::*by) {
    double furthest = std::log(kNear);
    std::size_t found = plans_.size();
    for (const std::size_t number : front_) {
      const double distance = is_open(number) ? distance_of(plans_[number].figures, by) : 0;
      if (distance > furthest) {
        furthest = distance;
        found = number;
      }
    }
    if (found < plans_.size()) {
      chosen_.push_back(found);
    }
    return found < plans_.size();
  }

  /// Distance to the nearest plan of the front that is simulated or will be: the logarithm of the ratio.
  [[nodiscard]] double distance_of(const PlanFigures& figures, double PlanFigures::*by) const {
    double nearest = std::numeric_limits<double>::infinity();
    for (const std::size_t number : front_) {
      const PlanFigures& other = plans_[number].figures;
      if (!is_open(number) && other.gpus == figures.gpus) {
        nearest = std::min(nearest, std::abs(std::log(other.*by / (figures.*by))));
      }
    }
    return nearest;
  }

  std::span<const FrontPlan> plans_;
  std::size_t count_;
  std::vector<std::size_t> front_, shown_, chosen_;
};

}  // namespace

std::vector<std::size_t> next_of_front(std::span<const FrontPlan> plans, std::size_t count) {
  return FrontChoice{plans, count}.choose();
}

}  // namespace lockstep
