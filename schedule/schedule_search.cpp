#include "schedule/schedule_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/parse_units.hpp"
#include "base/suggest.hpp"
#include "schedule/quality_curve.hpp"
#include "schedule/schedule_prediction.hpp"

namespace lockstep {
namespace {

constexpr double kRounding = 1e-9;
constexpr std::size_t kMostWidths = 12;  // all pairs of them are simulated
constexpr std::size_t kMostSlots = 100;

[[noreturn]] void refuse(const std::string& clause, const std::string& what) {
  throw std::invalid_argument{fmt::format(
      "--search: '{}': {}; e.g. \"top_mlp in 0.25..1, phases <= 4, saved_flops >= 30 %\"", clause, what)};
}

double number_in(std::string text, const std::string& clause) {
  const bool is_percent = !text.empty() && text.back() == '%';
  if (is_percent) {
    text.pop_back();
  }
  text.erase(text.find_last_not_of(' ') + 1);
  double value = 0;
  try {
    parse(text, value);
  } catch (const std::invalid_argument&) {
    refuse(clause, fmt::format("'{}' is no number", text));
  }
  return is_percent ? value / 100 : value;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// `GROUP in A..B by C`
void read_range(const std::string& clause, std::size_t in, SearchRequest& request) {
  const std::string name = trimmed(clause.substr(0, in));
  const std::vector<std::string> known = all_names_of<LayerGroup>();
  const auto found = std::ranges::find(known, name);
  if (found == known.end()) {
    refuse(clause, fmt::format("there is no layer group '{}'{}", name, did_you_mean(name, known)));
  }
  request.group = names_of(LayerGroup{})[static_cast<std::size_t>(found - known.begin())].value;
  std::string range = clause.substr(in + 4);
  if (const auto by = range.find(" by "); by != std::string::npos) {
    request.step = number_in(trimmed(range.substr(by + 4)), clause);
    range = range.substr(0, by);
  }
  const auto dots = range.find("..");
  if (dots == std::string::npos) {
    refuse(clause, "a range of shares is A..B");
  }
  request.least = number_in(trimmed(range.substr(0, dots)), clause);
  request.most = number_in(trimmed(range.substr(dots + 2)), clause);
  if (!(request.least > 0 && request.least <= request.most && request.most <= 1 && request.step > 0)) {
    refuse(clause, "shares are above 0 and at most 1, in growing order");
  }
}

/// `phases <= 4`, `saved_flops >= 30 %`, ...
void read_bound(const std::string& clause, SearchRequest& request) {
  std::istringstream words{clause};
  std::string what, relation, value;
  words >> what >> relation;
  std::getline(words, value);
  if (what == "every") {
    request.every = number_in(trimmed(relation + value), clause);
    return;
  }
  const double bound = number_in(trimmed(value), clause);
  if (what == "phases" && relation == "<=" && bound >= 1) {
    request.phases = static_cast<std::size_t>(bound);
  } else if (what == "full" && relation == ">=") {
    request.full = bound;
  } else if (what == "saved_flops" && relation == ">=") {
    request.least_flops_saved = bound;
  } else if (what == "saved_flops" && relation == "<=") {
    request.most_flops_saved = bound;
  } else if (what == "quality" && relation == ">=") {
    request.least_quality = bound;
  } else {
    refuse(clause,
           "clauses are GROUP in A..B, phases <= N, every P %, saved_flops >= P % (or <=), quality >= Q, "
           "full >= "
           "P %");
  }
}

/// Shares of the grid, ascending, 1 at last.
std::vector<double> shares_of(const SearchRequest& request) {
  std::vector<double> shares;
  for (double share = request.least; share < std::min(request.most, 1.0) + kRounding; share += request.step) {
    shares.push_back(std::min(1.0, share));
    if (shares.size() > kMostWidths) {
      throw std::invalid_argument{
          fmt::format("--search: more than {} widths: take larger steps ('by 0.125')", kMostWidths)};
    }
  }
  if (shares.back() < 1) {
    shares.push_back(1);
  }
  return shares;
}

std::string phase_text(const std::string& name, double until, LayerGroup group, double share) {
  return fmt::format("{{ name: {}, until: {:.10g} %, keep: {{ {}: {:.6g} }} }}", name, 100 * until,
                     name_of(group), share);
}

/// Every width behind every other one, so that each transition is simulated.
struct AllPairs {
  std::vector<std::size_t> widths;  ///< by phase

  explicit AllPairs(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        widths.insert(widths.end(), {i, j});
      }
    }
    widths.push_back(0);
    for (std::size_t i = count; i-- > 0;) {
      for (std::size_t j = i; j-- > 0;) {
        widths.insert(widths.end(), {i, j});
      }
    }
    if (count == 1) widths = {0};
  }
};

/// The user's quality of each share; 0 where it is not bounded.
std::vector<double> qualities(const YamlDocument& document, const ScheduledScenario& scheduled,
                              const SearchRequest& request, const std::vector<double>& shares) {
  if (!request.least_quality) {
    return std::vector<double>(shares.size());
  }
  const std::optional<std::string>& file = scheduled.scenario.schedule->quality_by_share;
  if (!file) {
    throw std::invalid_argument{
        "--search: 'quality >= Q' bounds your own curve: say schedule: { quality_by_share: curve.csv }, with "
        "the "
        "columns share and quality"};
  }
  const SourceLocation at = place_of(document.root(), "schedule.quality_by_share");
  return quality_of_shares(file_beside(document, at, *file), shares, at);
}

/// Times of all widths and transitions.
WidthSearchTask task_of(YamlDocument document, const ConfigPath& configs, const SearchRequest& request,
                        const Timelines& timelines) {
  const std::vector<double> shares = shares_of(request);
  const AllPairs pairs{shares.size()};
  std::vector<std::string> phases;
  for (std::size_t i = 0; i < pairs.widths.size(); ++i) {
    phases.push_back(phase_text(fmt::format("'{}'", i),
                                static_cast<double>(i + 1) / static_cast<double>(pairs.widths.size()),
                                request.group, shares[pairs.widths[i]]));
  }
  document = with_phases(std::move(document), fmt::format("[{}]", fmt::join(phases, ", ")));
  document.set("schedule.allow_small_end", "true");
  document.set("schedule.quality", "~");
  document.set("campaign", "~");
  const ScheduledScenario scheduled = scheduled_scenario(document, configs);
  const std::vector<double> quality = qualities(document, scheduled, request, shares);
  const SchedulePrediction all = predict_schedule(scheduled, configs, document, timelines);
  WidthSearchTask task;
  task.widths.resize(shares.size());
  task.transitions.assign(shares.size(), std::vector<double>(shares.size()));
  for (std::size_t i = 0; i < pairs.widths.size(); ++i) {
    const std::size_t width = pairs.widths[i];
    task.widths[width] = {shares[width], all.phases[i].figures.step, all.phases[i].figures.flops,
                          quality[width]};
    if (i + 1 < pairs.widths.size()) {
      task.transitions[width][pairs.widths[i + 1]] = all.transitions[i].seconds;
    }
  }
  task.slots = static_cast<std::size_t>(std::lround(1 / request.every));
  task.steps_of_slot = all.dense.steps / static_cast<double>(task.slots);
  return task;
}

std::string phases_text(const SearchRequest& request, const WidthSearchTask& task,
                        const FoundSchedule& found) {
  std::vector<std::string> phases;
  const auto slots = static_cast<double>(task.slots);
  for (std::size_t slot = 0; slot < task.slots; ++slot) {
    const std::size_t width = found.width_of_slot[slot];
    if (slot + 1 == task.slots || found.width_of_slot[slot + 1] != width) {
      phases.push_back(phase_text(fmt::format("{}_{:.6g}", phases.size() + 1, task.widths[width].share),
                                  static_cast<double>(slot + 1) / slots, request.group,
                                  task.widths[width].share));
    }
  }
  return fmt::format("[{}]", fmt::join(phases, ", "));
}

}  // namespace

SearchRequest SearchRequest::parse(const std::string& text) {
  SearchRequest request;
  bool has_range = false;
  std::istringstream clauses{text};
  for (std::string clause; std::getline(clauses, clause, ',');) {
    clause = trimmed(clause);
    if (const auto in = clause.find(" in "); in != std::string::npos) {
      read_range(clause, in, request);
      has_range = true;
    } else {
      read_bound(clause, request);
    }
  }
  if (!has_range) {
    refuse(text, "it does not say which layer group, in which range");
  }
  if (request.least_flops_saved && request.most_flops_saved) {
    refuse(text, "saved_flops is bounded from one side");
  }
  const double slots = request.every > 0 ? std::round(1 / request.every) : 0;
  if (!(slots >= 1 && slots <= static_cast<double>(kMostSlots) &&
        std::abs(slots * request.every - 1) < kRounding)) {
    refuse(text, fmt::format("'every' is a part of 100 %, at least {} %", 100 / kMostSlots));
  }
  return request;
}

YamlDocument with_phases(YamlDocument document, const std::string& phases) {
  document.set("schedule.alternate", "~");
  document.set("schedule.phases", phases);
  return document;
}

SearchedSchedule search_schedule(YamlDocument document, const ConfigPath& configs,
                                 const SearchRequest& request, const Timelines& timelines) {
  if (document.root().find("schedule") == nullptr) {
    throw InputError{document.root().at,
                     "--search takes the length of the training from the schedule: say "
                     "schedule: { steps: 100000 } and so on"};
  }
  SearchedSchedule searched{task_of(std::move(document), configs, request, timelines), {}, {}};
  searched.task.most_phases = request.phases;
  searched.task.least_flops_saved = request.least_flops_saved;
  searched.task.most_flops_saved = request.most_flops_saved;
  searched.task.least_quality = request.least_quality;
  searched.task.least_full_slots = static_cast<std::size_t>(
      std::ceil(request.full * static_cast<double>(searched.task.slots) - kRounding));
  const auto found = fastest_schedule(searched.task);
  if (!found) {
    throw std::invalid_argument{
        "--search: no schedule keeps these bounds: save fewer FLOPs, allow narrower widths, less time at "
        "full "
        "size, or a lower quality"};
  }
  searched.found = *found;
  searched.phases = phases_text(request, searched.task, *found);
  return searched;
}

}  // namespace lockstep
