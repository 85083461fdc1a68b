#include "app/sweep/sweep_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include "app/version.hpp"
#include "base/effective.hpp"
#include "base/file.hpp"
#include "base/text_hash.hpp"
#include "base/yaml_text.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/scenario_file.hpp"

namespace lockstep {
namespace {

constexpr const char* kMatrix = "matrix";

/// Inputs of results beside the effective configuration: the program, and the configurations that a scenario
/// gets by default.
std::string surroundings(const ConfigPath& configs) {
  std::string text = std::string{kVersion} + "\n";
  std::error_code none;
  if (std::filesystem::exists("/proc/self/exe", none)) {
    text += fmt::format("{:016x}\n", text_hash(read_whole_file("/proc/self/exe")));
  }
  for (const char* kind : {"gpus", "kernel_efficiency", "learned_kernels", "hosts", "profiles"}) {
    for (const std::string& name : configs.names(kind)) {
      text +=
          fmt::format("{} {} {:016x}\n", kind, name, text_hash(read_whole_file(configs.find(kind, name))));
    }
  }
  return text;
}

Matrix take_matrix(YamlDocument& document) {
  const std::optional<YamlEntry> entry = document.take(kMatrix);
  return entry ? read_matrix(entry->value) : Matrix{};
}

bool has_axis(const Matrix& matrix, const std::string& key_path) {
  return std::ranges::find(matrix.axes, key_path, &MatrixAxis::key_path) != matrix.axes.end();
}

bool has_all(const PointValues& values, const std::vector<MatrixAxis>& axes) {
  return std::ranges::all_of(axes, [&](const MatrixAxis& axis) {
    return std::ranges::find(values, axis.key_path, &PointValue::key_path) != values.end();
  });
}

std::string first_word(const std::string& key_path) {
  return key_path.substr(0, key_path.find('.'));
}

/// Whether a machine is drawn from the value of a key.
bool is_of_machine(const std::string& key_path) {
  const std::string word = first_word(key_path);
  return word == "cluster" || word == "gpu" || key_path.starts_with("vary.links") ||
         key_path.starts_with("vary.failed");
}

/// Whether Programs can depend on the value of a key.
bool is_of_job(const std::string& key_path) {
  constexpr std::array kOfRuns{"collectives", "engine",  "fold",  "interference",       "memory",
                               "name",        "network", "steps", "price_per_gpu_hour", "vary"};
  return is_of_machine(key_path) || std::ranges::count(kOfRuns, first_word(key_path)) == 0;
}

/// The values of the keys that @p matters for, as text.
std::string text_of(const PointValues& values, bool (*matters)(const std::string&)) {
  std::string text;
  for (const PointValue& value : values) {
    if (matters(value.key_path)) {
      text += value.key_path + ": " + flow_text(value.value) + "\n";
    }
  }
  return text;
}

/// Keys before their parts: `cluster` before `cluster.network.nics_per_node`.
PointValues outer_first(PointValues values) {
  std::ranges::stable_sort(values, {},
                           [](const PointValue& value) { return std::ranges::count(value.key_path, '.'); });
  return values;
}

}  // namespace

SweepPlan::SweepPlan(const std::filesystem::path& scenario, const ConfigPath& standard,
                     const std::vector<Override>& overrides)
    : configs_{standard.beside(scenario.parent_path())}, base_{read_scenario(scenario)} {
  Matrix matrix = take_matrix(base_);
  for (const Override& given : overrides) {
    const std::vector<std::string> values = values_of(given);
    if (values.size() > 1 || has_axis(matrix, given.key_path)) {
      set_axis(matrix, given.key_path, values);
    } else {
      base_.set(given.key_path, given.value);
    }
  }
  const SourceLocation whole{scenario.string()};
  if (matrix.is_empty()) {
    throw InputError{whole, "has no matrix of points: say matrix: { KEY: [A, B] } in it, or --set KEY=A,B"};
  }
  try {
    for (PointValues& values : points_of(matrix)) {
      points_.push_back({std::move(values), {}, {}});
    }
  } catch (const std::invalid_argument& problem) {
    throw InputError{whole, fmt::format("matrix: {}", problem.what())};
  }
  const YamlEntry* name = base_.root().find("name");
  name_ = name != nullptr ? name->value.scalar : scenario.stem().string();
  find_columns();
  find_alike_points();
  identify_points(matrix.axes);
}

void SweepPlan::find_alike_points() {
  std::map<std::string, std::size_t> machines, jobs;
  for (SweepPoint& point : points_) {
    point.machine = machines.try_emplace(text_of(point.values, is_of_machine), machines.size()).first->second;
    point.job = jobs.try_emplace(text_of(point.values, is_of_job), jobs.size()).first->second;
  }
  order_.resize(points_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::stable_sort(order_, {}, [&](std::size_t number) {
    return std::pair{points_[number].machine, points_[number].job};
  });
}

void SweepPlan::find_columns() {
  for (const SweepPoint& point : points_) {
    for (const PointValue& value : point.values) {
      if (std::ranges::find(columns_, value.key_path) == columns_.end()) {
        columns_.push_back(value.key_path);
      }
    }
  }
}

/// Gives each point its key. If no combination of the axes can be read, that is the axes' mistake, also
/// beside readable points of `include`.
void SweepPlan::identify_points(const std::vector<MatrixAxis>& axes) {
  const std::string around = surroundings(configs_);
  std::map<std::size_t, InputError> mistakes;
  const auto is_combination = [&](const SweepPoint& point) { return has_all(point.values, axes); };
  const bool has_combinations = std::ranges::any_of(points_, is_combination);
  bool any_is_sound = false;
  for (const std::size_t number : order_) {
    SweepPoint& point = points_[number];
    std::string text;
    try {
      const YamlDocument document = document_of(point);
      (void)read_document<ScenarioSpec>(document, configs_);
      text = effective_values(type_of<ScenarioSpec>(), document, configs_);
      any_is_sound = any_is_sound || !has_combinations || is_combination(point);
    } catch (const InputError& mistake) {
      point.mistake = mistake.what();
      text = *point.mistake;
      mistakes.emplace(number, mistake);
    }
    point.key = fmt::format("{:016x}", text_hash(around + text));
  }
  if (!any_is_sound) {
    throw InputError{mistakes.begin()->second};
  }
}

std::vector<std::string> SweepPlan::labels(const SweepPoint& point) const {
  std::vector<std::string> labels;
  for (const std::string& column : columns_) {
    const auto value = std::ranges::find(point.values, column, &PointValue::key_path);
    const bool is_text = value != point.values.end() && value->value.kind == YamlNode::Kind::Scalar;
    labels.push_back(value == point.values.end() ? ""
                     : is_text                   ? value->value.scalar
                                                 : flow_text(value->value));
  }
  return labels;
}

YamlDocument SweepPlan::document_of(const SweepPoint& point) const {
  YamlDocument document = base_;
  for (PointValue& value : outer_first(point.values)) {
    document.set(value.key_path, std::move(value.value));
  }
  return document;
}

}  // namespace lockstep
