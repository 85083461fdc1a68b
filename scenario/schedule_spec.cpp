#include "scenario/schedule_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/parse_units.hpp"

namespace lockstep {
namespace {

constexpr double kMostAmount = 1e18;  // tokens: beyond, a unit was mistaken
constexpr double kRounding = 1e-12;   // of shares that are written in percent
constexpr int kMostSeeds = 1000;
constexpr std::size_t kMostPhases = 1000;  // each is simulated and printed

/// `60 %` as 0.6; a number as its part of @p whole.
double share_of(const std::string& text, double whole, const std::string& unit) {
  std::string number = text;
  const bool is_percent = !number.empty() && number.back() == '%';
  if (is_percent) {
    number.pop_back();
    number.erase(number.find_last_not_of(' ') + 1);
  }
  double value = 0;
  try {
    parse(number, value);
  } catch (const std::invalid_argument&) {
    throw std::invalid_argument{
        fmt::format("'{}' is neither a share of the training, e.g. 60 %, nor a number of {}", text, unit)};
  }
  return is_percent ? value / 100 : value / whole;
}

double share_at(const std::string& text, const TrainingLengthSpec& length, const std::string& key) {
  try {
    return share_of(text, length.amount(), length.unit());
  } catch (const std::invalid_argument& problem) {
    throw FieldError{key, problem.what()};
  }
}

std::vector<PlannedPhase> written_phases(const ScheduleSpec& schedule) {
  std::vector<PlannedPhase> planned;
  double from = 0;
  for (std::size_t i = 0; i < schedule.phases.size(); ++i) {
    const PhaseSpec& phase = schedule.phases[i];
    const std::string path = fmt::format("phases.{}", i);
    const double until = share_at(phase.until, schedule.length, path + ".until");
    if (!(until > from)) {
      throw FieldError{
          path + ".until",
          fmt::format("phase '{}' ends at {:g} %, where the one before it does or earlier: it ends "
                      "later than {:g} %",
                      phase.name, 100 * until, 100 * from)};
    }
    planned.push_back({phase, from, until, "schedule." + path + ".keep"});
    from = until;
  }
  if (std::abs(from - 1) > kRounding) {
    throw FieldError{
        fmt::format("phases.{}.until", planned.size() - 1),
        fmt::format("the phases end at {:g} % of the training: the last one's 'until' is 100 %", 100 * from)};
  }
  planned.back().until = 1;
  return planned;
}

std::string turn_name(const KeptShares& keep) {
  std::string name;
  for (const auto& [group, share] : keep) {
    name += fmt::format("{}{} {:g} %", name.empty() ? "" : ", ", name_of(group), 100 * share);
  }
  return keeps_all(keep) ? "full" : name;
}

std::vector<PlannedPhase> alternating_phases(const ScheduleSpec& schedule) {
  const AlternationSpec& alternate = *schedule.alternate;
  const double every = share_at(alternate.every, schedule.length, "alternate.every");
  const double turns = every > 0 ? std::round(1 / every) : 0;
  if (!(turns >= 1) || std::abs(turns * every - 1) > 1e-9) {
    throw FieldError{"alternate.every", fmt::format("turns of {:g} % do not fill the training: say a part of "
                                                    "100 %, e.g. 5 %",
                                                    100 * every)};
  }
  if (turns > static_cast<double>(kMostPhases)) {
    throw FieldError{"alternate.every",
                     fmt::format("at most {} turns are simulated, not {:g}", kMostPhases, turns)};
  }
  std::vector<PlannedPhase> planned;
  for (int turn = 0; turn < static_cast<int>(turns); ++turn) {
    const std::size_t kept = static_cast<std::size_t>(turn) % alternate.between.size();
    PhaseSpec phase;
    phase.name = fmt::format("{}: {}", turn + 1, turn_name(alternate.between[kept]));
    phase.keep = alternate.between[kept];
    phase.round = alternate.round;
    planned.push_back(
        {phase, turn / turns, (turn + 1) / turns, fmt::format("schedule.alternate.between.{}", kept)});
  }
  return planned;
}

void check_names(const std::vector<PhaseSpec>& phases) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (!names.insert(phases[i].name).second) {
      throw FieldError{fmt::format("phases.{}.name", i),
                       fmt::format("two phases are called '{}'", phases[i].name)};
    }
  }
}

}  // namespace

bool keeps_all(const KeptShares& keep) {
  return std::ranges::all_of(keep, [](const auto& entry) { return entry.second == 1; });
}

void check_shares(const KeptShares& keep, const std::string& prefix) {
  for (const auto& [group, share] : keep) {
    if (!(share > 0 && share <= 1)) {
      throw FieldError{prefix + name_of(group),
                       fmt::format("a share that is kept is above 0 and at most 1, not {:g}", share)};
    }
  }
}

void MaskSpec::check() const {
  if (!(zeros >= 0 && zeros < 1)) {
    throw FieldError{"zeros", fmt::format("a share of the weights: at least 0, below 1, not {:g}", zeros)};
  }
}

SparsitySpec SparsitySpec::parse(const std::string& text) {
  if (text != name_of(SparsityKind::TwoOfFour)) {
    throw std::invalid_argument{
        fmt::format("'{}' is no structure that tensor cores leave out: 2:4 is; zeros without structure are a "
                    "'mask', which "
                    "saves no time",
                    text)};
  }
  return {};
}

void KeptTablesSpec::check() const {
  if (tables.empty()) {
    throw FieldError{"tables", "names no table, e.g. [0, 5]"};
  }
  for (const auto& [key, share] : {std::pair{"rows", rows}, std::pair{"dimension", dimension}}) {
    if (!(share > 0 && share <= 1)) {
      throw FieldError{key, fmt::format("a share that is kept is above 0 and at most 1, not {:g}", share)};
    }
  }
}

bool PhaseSpec::is_full_size() const {
  return keeps_all(keep) && !sparsity && std::ranges::all_of(tables, [](const KeptTablesSpec& kept) {
           return kept.rows == 1 && kept.dimension == 1;
         });
}

void PhaseSpec::check() const {
  if (sparsity && mask) {
    throw FieldError{"mask", "zeros of the weights have a structure or none: say sparsity or mask"};
  }
  check_shares(keep, "keep.");
  const auto expect_positive = [](const char* key, const std::optional<std::int64_t>& value) {
    if (value && *value < 1) {
      throw FieldError{key, fmt::format("'{}' is at least 1, not {}", key, *value)};
    }
  };
  expect_positive("round", round);
  expect_positive("batch", batch);
  expect_positive("micro_batch", micro_batch);
  expect_positive("sequence", sequence);
  expect_positive("image_size", image_size);
  if (parallelism.kind != YamlNode::Kind::Null && parallelism.kind != YamlNode::Kind::Mapping) {
    throw FieldError{"parallelism", "keys of the scenario's parallelism, e.g. { tensor: 2 }"};
  }
}

void AlternationSpec::check() const {
  if (between.size() < 2) {
    throw FieldError{"between", "at least two take turns, e.g. [{ top_mlp: 0.5 }, {}]"};
  }
  for (std::size_t i = 0; i < between.size(); ++i) {
    check_shares(between[i], fmt::format("between.{}.", i));
  }
  if (round && *round < 1) {
    throw FieldError{"round", "'round' is at least 1; 1 means any width"};
  }
}

TransitionCheckpoint TransitionCheckpoint::parse(const std::string& text) {
  constexpr BytesPerSecond kLocal{1e9};
  if (text == "none") {
    return {};
  }
  if (text == "local") {
    return {kLocal};
  }
  throw std::invalid_argument{fmt::format("'{}' is none of none, local, {{ bandwidth: 2 GB/s }}", text)};
}

void TransitionCheckpoint::check() const {
  if (bandwidth && !(*bandwidth > BytesPerSecond{0})) {
    throw FieldError{"bandwidth", "a file system takes more than 0 B/s"};
  }
}

void TransitionSpec::check() const {
  if (recompile && *recompile < Seconds{0}) {
    throw FieldError{"recompile", "'recompile' is a time, not negative"};
  }
  if (std::ranges::any_of(warm_up, [](double more) { return !(more > -1 && more <= 1e6); })) {
    throw FieldError{"warm_up", "parts of a step by which the first steps are longer, e.g. [1, 0.5]"};
  }
}

void TrainingLengthSpec::check() const {
  const int said = int{steps.has_value()} + int{samples.has_value()} + int{tokens.has_value()};
  if (said != 1) {
    throw FieldError{"steps", said == 0 ? "how long is the training? say steps:, samples: or tokens:"
                                        : "a training is as long as one of steps, samples and tokens says"};
  }
  if (!(amount() >= 1 && amount() <= kMostAmount)) {
    throw FieldError{unit(), fmt::format("at least 1 and at most {:g}, not {:g}", kMostAmount, amount())};
  }
}

Watts Watts::parse(const std::string& text) {
  std::string number = text;
  const bool is_watts = !number.empty() && number.back() == 'W';
  number.erase(is_watts ? number.size() - 1 : 0);
  const bool is_kilo = !number.empty() && number.back() == 'k';
  if (is_kilo) {
    number.pop_back();
  }
  number.erase(number.find_last_not_of(' ') + 1);
  constexpr double kKilo = 1000;
  double value = 0;
  try {
    lockstep::parse(number, value);
  } catch (const std::invalid_argument&) {
    throw std::invalid_argument{
        fmt::format("'{}' is no power: expected a number with W or kW, e.g. 350 W", text)};
  }
  return {is_kilo ? kKilo * value : value};
}

void PowerSpec::check() const {
  if (!(idle.watts >= 0) || !(busy.watts >= idle.watts)) {
    throw FieldError{"busy", "a busy GPU takes at least what an idle one does, which is not negative"};
  }
}

void ScheduleSpec::check() const {
  length.check();
  if (phases.empty() == !alternate.has_value()) {
    throw FieldError{"phases", phases.empty() ? "a schedule has phases, or alternate"
                                              : "a schedule has phases or alternate, not both"};
  }
  if (phases.size() > kMostPhases) {
    throw FieldError{"phases",
                     fmt::format("at most {} phases are simulated, not {}", kMostPhases, phases.size())};
  }
  check_names(phases);
  const PlannedPhase last = planned_phases(*this).back();
  if (!last.spec.is_full_size() && !allow_small_end) {
    const char* const key = !keeps_all(last.spec.keep) ? "keep" : last.spec.sparsity ? "sparsity" : "tables";
    throw FieldError{
        phases.empty() ? "alternate.between" : fmt::format("phases.{}.{}", phases.size() - 1, key),
        fmt::format("the last phase ('{}') does not train the full model: {}, or say allow_small_end: true",
                    last.spec.name,
                    keeps_all(last.spec.keep) ? fmt::format("leave its '{}' out", key)
                                              : std::string{"its 'keep' is all"})};
  }
  if (seeds < 1 || seeds > kMostSeeds) {
    throw FieldError{"seeds", fmt::format("at least 1 and at most {}, not {}", kMostSeeds, seeds)};
  }
}

std::vector<PlannedPhase> planned_phases(const ScheduleSpec& schedule) {
  return schedule.alternate ? alternating_phases(schedule) : written_phases(schedule);
}

}  // namespace lockstep
