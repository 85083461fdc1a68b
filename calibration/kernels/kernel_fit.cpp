#include "calibration/kernels/kernel_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

#include "calibration/error_summary.hpp"
#include "ops/gpu/learned_scale.hpp"
#include "ops/kernels/kernel_features.hpp"
#include "ops/kernels/learned.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kEnoughToJudge = 20;  // covered rows of a test
constexpr double kBandShare = 0.9;

/// A row as networks see it.
struct Row {
  const KernelMeasurement* measured;
  const GpuSpec* gpu;
  KernelFeatures seen;

  [[nodiscard]] std::string shape() const { return measured->gpu + " " + shape_text(measured->call.work); }
};

using Kind = std::tuple<LearnedFamily, std::string, std::string>;  // type, layout
using RowsByKind = std::map<Kind, std::vector<Row>>;

RowsByKind by_kind(const KernelMeasurements& measurements, const GpuByName& gpu, std::size_t* unseen) {
  RowsByKind kinds;
  for (const KernelMeasurement& measured : measurements) {
    const GpuSpec& spec = gpu(measured.gpu);
    if (auto seen = kernel_features(measured.call, spec)) {
      std::vector<Row>& rows = kinds[{seen->family, seen->type, seen->layout}];
      rows.push_back({&measured, &spec, *std::move(seen)});
    } else if (unseen != nullptr) {
      ++*unseen;
    }
  }
  return kinds;
}

struct Split {
  std::vector<Row> fitted, validation, held_out;
};

Split split(const std::vector<Row>& rows, const KernelFitOptions& options) {
  Split parts;
  for (const Row& row : rows) {
    const double place = place_of_shape(row.measured->call.work);
    (place < options.held_out                        ? parts.held_out
     : place < options.held_out + options.validation ? parts.validation
                                                     : parts.fitted)
        .push_back(row);
  }
  return parts;
}

std::vector<TrainingCall> training_calls(const std::vector<Row>& rows) {
  std::vector<TrainingCall> calls;
  for (const Row& row : rows) {
    calls.push_back({row.seen.call, row.seen.elements, std::log(row.measured->time / row.seen.bound)});
  }
  return calls;
}

LearnedKernel untrained(const Kind& kind, const std::vector<Row>& fitted) {
  LearnedKernel network;
  std::tie(network.family, network.type, network.layout) = kind;
  std::vector<std::vector<double>> calls, elements;
  for (const Row& row : fitted) {
    calls.push_back(row.seen.call);
    elements.insert(elements.end(), row.seen.elements.begin(), row.seen.elements.end());
  }
  network.features = ranges_of(call_feature_names(network.family), calls);
  if (!elements.empty()) network.elements = ranges_of(element_feature_names(network.family), elements);
  return network;
}

/// The formula's time on a GPU without networks.
Seconds formula_time(const Row& row) {
  GpuSpec plain = *row.gpu;
  plain.learned = std::nullopt;
  return model_for(row.measured->call).predict(row.measured->call, plain).duration;
}

KernelErrors errors_of(std::string name, const LearnedKernel& network, const std::vector<Row>& rows) {
  KernelErrors errors;
  errors.name = std::move(name);
  for (const Row& row : rows) {
    const double formula = formula_time(row) / row.measured->time - 1;
    if (covers(network, row.seen)) {
      errors.network.push_back(learned_time(network, row.seen, *row.gpu) / row.measured->time - 1);
      errors.formula.push_back(formula);
    } else {
      errors.beyond.push_back(formula);
    }
  }
  return errors;
}

/// @param network none: the formula answers
void add_residuals(const LearnedKernel* network, const std::vector<Row>& rows, const std::string& part,
                   FittedKernel& fitted) {
  for (const Row& row : rows) {
    const Seconds formula = formula_time(row);
    const bool answers = network != nullptr && covers(*network, row.seen);
    fitted.residuals.push_back({*row.measured, formula,
                                answers ? learned_time(*network, row.seen, *row.gpu) : formula,
                                title_of(fitted.network), part});
  }
}

double ninetieth(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  return quantile(errors, kBandShare);
}

void judge(FittedKernel& fitted) {
  const KernelErrors& held_out = fitted.errors.at(1);
  if (held_out.network.empty()) return;
  fitted.taken = true;
  fitted.network.error = summarise(held_out.network).mean;
  fitted.network.formula_error = summarise(held_out.formula).mean;
  for (std::size_t i = 1; i < fitted.errors.size(); ++i) {
    const KernelErrors& errors = fitted.errors[i];
    if (errors.left_out_gpu || (i > 1 && errors.network.size() < kEnoughToJudge)) continue;
    fitted.taken = fitted.taken && summarise(errors.network).mean < summarise(errors.formula).mean;
    fitted.network.band = std::max(fitted.network.band, ninetieth(errors.network));
  }
}

/// The rows of a test by GPU, without shapes that were learned from.
std::map<std::string, std::vector<Row>> unlearned(const std::vector<Row>& rows,
                                                  const std::set<std::string>& learned) {
  std::map<std::string, std::vector<Row>> by_gpu;
  for (const Row& row : rows) {
    if (!learned.contains(row.shape())) by_gpu[row.gpu->name].push_back(row);
  }
  return by_gpu;
}

/// The rows of one kind of kernel in each test.
using TestRows = std::vector<std::pair<std::string, std::vector<Row>>>;

LearnedKernel trained(const Kind& kind, const std::vector<Row>& rows, const std::vector<Row>& validation,
                      const TrainingOptions& options) {
  LearnedKernel network = untrained(kind, rows);
  train(network, training_calls(rows), training_calls(validation), options);
  return network;
}

FittedKernel fit(const Kind& kind, const std::vector<Row>& rows, const KernelFitOptions& options,
                 const TestRows& tests, const std::vector<std::string>& gpus) {
  FittedKernel fitted;
  fitted.rows = rows.size();
  const Split parts = split(rows, options);
  fitted.network = untrained(kind, parts.fitted);
  if (rows.size() < options.fewest || parts.fitted.empty() || parts.validation.empty()) {
    add_residuals(nullptr, rows, "not fitted", fitted);
    return fitted;
  }
  const LearnedKernel judged = trained(kind, parts.fitted, parts.validation, options.training);
  fitted.trained = true;
  fitted.errors.push_back(errors_of("fitted", judged, parts.fitted));
  fitted.errors.push_back(errors_of("held out", judged, parts.held_out));
  add_residuals(&judged, parts.fitted, "fitted", fitted);
  add_residuals(&judged, parts.validation, "validation", fitted);
  add_residuals(&judged, parts.held_out, "held out", fitted);
  std::vector<Row> all = parts.fitted;
  all.insert(all.end(), parts.held_out.begin(), parts.held_out.end());
  fitted.network = trained(kind, all, parts.validation, options.training);
  std::set<std::string> learned;
  for (const Row& row : rows) learned.insert(row.shape());
  for (const auto& [name, test] : tests) {
    for (const auto& [gpu, unlearned_rows] : unlearned(test, learned)) {
      KernelErrors errors = errors_of(fmt::format("{}, {}", name, gpu), fitted.network, unlearned_rows);
      errors.left_out_gpu = std::ranges::find(gpus, gpu) == gpus.end();
      add_residuals(&fitted.network, unlearned_rows, errors.name, fitted);
      fitted.errors.push_back(std::move(errors));
    }
  }
  judge(fitted);
  return fitted;
}

}  // namespace

KernelFit fit_kernels(const KernelMeasurements& measurements, const std::vector<KernelTest>& tests,
                      const GpuByName& gpu, const KernelFitOptions& options) {
  if (!(options.held_out >= 0 && options.validation > 0 && options.held_out + options.validation < 1)) {
    throw std::invalid_argument{
        "the held-out shapes and those of the validation must leave some to learn from"};
  }
  KernelFit result;
  const RowsByKind kinds = by_kind(measurements, gpu, &result.unseen);
  std::vector<std::pair<std::string, RowsByKind>> test_kinds;
  for (const KernelTest& test : tests) test_kinds.emplace_back(test.name, by_kind(test.rows, gpu, nullptr));
  for (const KernelMeasurement& row : measurements) {
    const GpuSpec& spec = gpu(row.gpu);
    result.scale.try_emplace(spec.name, scale_of(spec));
  }
  for (const auto& [name, numbers] : result.scale) result.gpus.push_back(name);
  for (const auto& [kind, rows] : kinds) {
    TestRows of_kind;
    for (const auto& [name, test] : test_kinds) {
      if (const auto found = test.find(kind); found != test.end()) of_kind.emplace_back(name, found->second);
    }
    result.kernels.push_back(fit(kind, rows, options, of_kind, result.gpus));
  }
  return result;
}

}  // namespace lockstep
