#include "app/sweep/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/units.hpp"
#include "calibration/tie.hpp"

namespace lockstep {
namespace {

/// The number by which rows are ranked: more is better.
double merit(const SweepRow& row, bool by_cost) {
  if (!row.is_done()) {
    return -std::numeric_limits<double>::infinity();
  }
  if (by_cost) {
    return -*row.cost;
  }
  return row.tokens_per_s.value_or(row.samples_per_s.value_or(0));
}

std::string last_word(const std::string& key_path) {
  return key_path.substr(key_path.rfind('.') + 1);
}

}  // namespace

bool is_judged_by_cost(const SweepTable& table) {
  return std::ranges::all_of(table.rows, [](const SweepRow& row) { return !row.is_done() || row.cost; });
}

std::vector<std::size_t> best_first(const SweepTable& table) {
  std::vector<std::size_t> order(table.rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const bool by_cost = is_judged_by_cost(table);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return merit(table.rows[i], by_cost); });
  return order;
}

std::optional<std::size_t> best_row(const SweepTable& table) {
  const std::vector<std::size_t> order = best_first(table);
  return order.empty() || !table.rows[order.front()].is_done() ? std::nullopt : std::optional{order.front()};
}

std::size_t ties_of_best(const SweepTable& table) {
  const auto number = best_row(table);
  if (!number || !table.rows[*number].band_faster) {
    return 0;
  }
  const bool by_cost = is_judged_by_cost(table);
  const SweepRow& best = table.rows[*number];
  const Band band{*best.band_faster, best.band_slower.value_or(0)};
  const double least = std::abs(merit(best, by_cost));
  return static_cast<std::size_t>(std::ranges::count_if(table.rows, [&](const SweepRow& row) {
    const double other = std::abs(merit(row, by_cost));
    return row.is_done() && &row != &best && other > 0 && least > 0 &&
           (by_cost ? is_tie(least, other, band) : is_tie(1 / least, 1 / other, band));
  }));
}

std::vector<std::string> short_names(const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const std::string& column : columns) {
    const std::string word = last_word(column);
    const auto alike =
        std::ranges::count_if(columns, [&](const std::string& other) { return last_word(other) == word; });
    names.push_back(alike > 1 ? column : word);
  }
  return names;
}

std::string best_sentence(const SweepTable& table) {
  const auto number = best_row(table);
  if (!number) {
    return "No point of the sweep could be predicted.";
  }
  const SweepRow& best = table.rows[*number];
  const std::vector<std::string> names = short_names(table.columns);
  std::string labels;
  for (std::size_t i = 0; i < names.size(); ++i) {
    labels += best.labels[i].empty()
                  ? ""
                  : fmt::format("{}{} {}", labels.empty() ? "" : ", ", names[i], best.labels[i]);
  }
  const double step = best.step_time.value_or(0);
  const Band band{best.band_faster.value_or(0), best.band_slower.value_or(0)};
  const std::size_t ties = ties_of_best(table);
  return fmt::format("Of {} points the best is {}: {} a step, {}.", table.rows.size(),
                     labels.empty() ? "the only one" : labels, to_string(Seconds{step}), in_words(band)) +
         (ties > 0 ? fmt::format(" It is a tie with {} more within that band.", ties) : "");
}

}  // namespace lockstep
