#include "traces/replay/named_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace lockstep::replay {
namespace {

constexpr std::uint64_t kMostSteps = 20'000'000;  // of the search: a second or so

/// A table that may be chosen. What is chosen has exact sums, so that elements are whole numbers.
struct Candidate {
  std::int64_t elements = 0;
  double pooling = 0;
  std::size_t place = 0;  ///< among the named tables
};

/// Goes through the choices of tables with the greatest first, and leaves out those whose sums cannot fit.
class Choice {
 public:
  Choice(std::vector<Candidate> tables, double lookups) : tables_{std::move(tables)}, lookups_{lookups} {
    std::ranges::stable_sort(tables_, std::ranges::greater{}, [](const Candidate& table) {
      return std::pair{table.elements, table.pooling};
    });
    sums_.assign(1, 0);
    for (const Candidate& table : tables_) sums_.push_back(sums_.back() + table.elements);
  }

  /// Places of @p count tables of @p elements together, in order; empty: there are none.
  std::vector<std::size_t> of(std::size_t count, std::int64_t elements) {
    search(0, count, elements, 0);
    std::ranges::sort(best_);
    return best_;
  }

 private:
  void search(std::size_t from, std::size_t count, std::int64_t elements, double pooling) {
    if (++steps_ > kMostSteps) {
      throw std::invalid_argument{
          "too many choices of tables have about as many elements: name the tables of one rank alone, and "
          "replay its trace"};
    }
    if (count == 0) {
      const double error = std::abs(pooling - lookups_);
      if (elements == 0 && (best_.empty() || error < error_)) {
        best_ = chosen_;
        error_ = error;
      }
      return;
    }
    for (std::size_t i = from; i + count <= tables_.size(); ++i) {
      if (sums_[i + count] - sums_[i] < elements) {
        return;  // the greatest that are left are too few
      }
      const bool is_tried = i > from && tables_[i].elements == tables_[i - 1].elements &&
                            tables_[i].pooling == tables_[i - 1].pooling;
      if (is_tried || tables_[i].elements + sums_.back() - sums_[sums_.size() - count] > elements) {
        continue;  // even with the smallest it is too much
      }
      chosen_.push_back(tables_[i].place);
      search(i + 1, count - 1, elements - tables_[i].elements, pooling + tables_[i].pooling);
      chosen_.pop_back();
    }
  }

  std::vector<Candidate> tables_;
  double lookups_;                  // of a sample
  std::vector<std::int64_t> sums_;  // of the elements before each table
  std::vector<std::size_t> chosen_, best_;
  double error_ = 0;
  std::uint64_t steps_ = 0;
};

/// Named tables that have @p lookup's elements; columns of all are @p columns, 0: the named ones.
std::vector<std::size_t> chosen_tables(const RecordedLookup& lookup, std::span<const EmbeddingTable> named,
                                       std::int64_t columns) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::int64_t width = columns > 0 ? columns : named[i].dimension;
    candidates.push_back({named[i].rows * width, named[i].pooling_factor, i});
  }
  const double lookups = static_cast<double>(lookup.lookups) / static_cast<double>(lookup.batch);
  return Choice{std::move(candidates), lookups}.of(static_cast<std::size_t>(lookup.tables),
                                                   std::llround(lookup.weights));
}

std::int64_t sum_of_columns(const std::vector<EmbeddingTable>& tables) {
  return std::accumulate(tables.begin(), tables.end(), std::int64_t{0},
                         [](std::int64_t sum, const EmbeddingTable& table) { return sum + table.dimension; });
}

}  // namespace

std::vector<EmbeddingTable> tables_of(const RecordedLookup& lookup, std::int64_t width,
                                      std::span<const EmbeddingTable> named) {
  if (lookup.tables > static_cast<std::int64_t>(named.size())) {
    throw std::invalid_argument{
        fmt::format("a recorded lookup is over {} tables, and {} are named: name all of them", lookup.tables,
                    named.size())};
  }
  const auto taken = [&](const std::vector<std::size_t>& places, std::int64_t columns) {
    std::vector<EmbeddingTable> tables;
    for (const std::size_t place : places) {
      tables.push_back(named[place]);
      if (columns > 0) tables.back().dimension = columns;
    }
    return tables;
  };
  std::vector<EmbeddingTable> tables = taken(chosen_tables(lookup, named, 0), 0);
  const bool alike = width > 0 && width % lookup.tables == 0;
  if (tables.empty() || (width > 0 && sum_of_columns(tables) != width)) {
    const std::int64_t columns = alike ? width / lookup.tables : 0;
    tables =
        columns > 0 ? taken(chosen_tables(lookup, named, columns), columns) : std::vector<EmbeddingTable>{};
  }
  if (tables.empty()) {
    throw std::invalid_argument{fmt::format(
        "a recorded lookup is over tables ({}) of {:.0f} elements{}: no choice of as many among the {} that "
        "are "
        "named has these; name the tables that were trained, with their rows after hashing",
        lookup.tables, lookup.weights,
        alike ? fmt::format(", {:.0f} rows of {} columns",
                            lookup.weights * static_cast<double>(lookup.tables) / static_cast<double>(width),
                            width / lookup.tables)
              : "",
        named.size())};
  }
  const double named_lookups =
      std::accumulate(tables.begin(), tables.end(), 0.0,
                      [](double sum, const EmbeddingTable& table) { return sum + table.pooling_factor; });
  const double recorded = static_cast<double>(lookup.lookups) / static_cast<double>(lookup.batch);
  for (EmbeddingTable& table : tables) table.pooling_factor *= recorded / named_lookups;
  return tables;
}

}  // namespace lockstep::replay
