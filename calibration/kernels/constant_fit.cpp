#include "calibration/kernels/constant_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>

#include "calibration/kernels/constant_split.hpp"
#include "calibration/least_squares.hpp"
#include "ops/kernel_model.hpp"
#include "ops/kernels/normalisation.hpp"

namespace lockstep {
namespace {

constexpr double kExpectedError = 0.05;
constexpr std::size_t kFewestRows = 4;
constexpr double kMicro = 1e6;

enum class ConstantUnit : std::uint8_t { Fraction, Factor, Time };

/// The factor by which a constant of the kind may move before it says something else than a GPU. It is a
/// little more than the sets of configs/kernel_efficiency differ in it.
///
///   fraction   1.26 in what kernels that stream reach of the memory (0.74 on T4, 0.93 on H100), and 1.14 in
///              parts of that (softmax 0.88 on T4, 1 on A100): 1.44 together
///   factor     2.4 in the best tile (tensor 0.42 on T4, 1.0 on GeForce); 1.9 and 2.1 in FP32 (T4, and V100
///              or A100), most of it the clock that a power limit leaves
///   time       1.05 in row_latency, which is of two GPUs only: as for rates
constexpr double plausible_factor(ConstantUnit unit) {
  return unit == ConstantUnit::Fraction ? 1.5 : 2.5;
}

/// A constant under a factor exp(x) on what it was.
struct Constant {
  const char* key;
  double (*read)(const KernelEfficiency&);
  void (*scale)(KernelEfficiency&, double factor);
  ConstantUnit unit = ConstantUnit::Fraction;
  double (*most)(const KernelEfficiency&) = nullptr;  ///< factor; null: any
};

/// One factor on all tiles, at most that with which the best is as fast as the peak.
double most_of(const GemmProfile& profile) {
  const auto best = std::ranges::max_element(profile.tiles, {}, &GemmTile::efficiency);
  return best == profile.tiles.end() ? 1 : 1 / best->efficiency;
}

void scale_tiles(GemmProfile& profile, double factor) {
  const double within = std::min(factor, most_of(profile));
  for (GemmTile& tile : profile.tiles) tile.efficiency *= within;
}

template <double KernelEfficiency::*member>
constexpr Constant fraction(const char* key) {
  return {key, [](const KernelEfficiency& of) { return of.*member; },
          [](KernelEfficiency& of, double factor) { of.*member = std::min(1.0, of.*member * factor); },
          ConstantUnit::Fraction, [](const KernelEfficiency& of) { return 1 / of.*member; }};
}

template <GemmProfile KernelEfficiency::*member>
constexpr Constant tiles(const char* key) {
  return {key, [](const KernelEfficiency& /*of*/) { return 1.0; },
          [](KernelEfficiency& of, double factor) { scale_tiles(of.*member, factor); }, ConstantUnit::Factor,
          [](const KernelEfficiency& of) { return most_of(of.*member); }};
}

constexpr Constant kMemory = fraction<&KernelEfficiency::memory>("memory");
constexpr Constant kSoftmax = fraction<&KernelEfficiency::softmax>("softmax");
constexpr Constant kBlockSoftmax = fraction<&KernelEfficiency::block_softmax>("block_softmax");
constexpr Constant kLayerNorm = fraction<&KernelEfficiency::layer_norm>("layer_norm");
constexpr Constant kRandomRows = fraction<&KernelEfficiency::random_rows>("random_rows");
constexpr Constant kUpdate = fraction<&KernelEfficiency::scattered_update>("scattered_update");
constexpr Constant kRowLatency = {
    "row_latency", [](const KernelEfficiency& of) { return of.row_latency / Seconds{1}; },
    [](KernelEfficiency& of, double factor) { of.row_latency = factor * of.row_latency; },
    ConstantUnit::Time};
constexpr Constant kSingle = tiles<&KernelEfficiency::fp32>("fp32.tiles");
constexpr Constant kBatched = tiles<&KernelEfficiency::fp32_batched>("fp32_batched.tiles");
constexpr Constant kTensor = tiles<&KernelEfficiency::tensor>("tensor.tiles");
constexpr Constant kTf32 = {"tf32.tiles", [](const KernelEfficiency& /*of*/) { return 1.0; },
                            [](KernelEfficiency& of, double factor) { scale_tiles(of.tf32.value(), factor); },
                            ConstantUnit::Factor,
                            [](const KernelEfficiency& of) { return most_of(of.tf32.value()); }};

constexpr const char* kNoConstant = "none of the constants";

/// Constants that a row's time depends on, among those that its own family tells.
std::vector<const Constant*> constants_of(const KernelCall& call, const GpuSpec& gpu) {
  if (const auto* pointwise = std::get_if<Pointwise>(&call.work)) {
    if (!(pointwise->instructions > 0)) return {&kMemory};  // else it waits for those, too
  }
  if (const auto* softmax = std::get_if<Softmax>(&call.work)) {
    return {softmax->columns <= kRowOfAWarp ? &kSoftmax : &kBlockSoftmax};
  }
  if (std::holds_alternative<LayerNorm>(call.work)) return {&kLayerNorm};
  if (const auto* bags = std::get_if<EmbeddingBags>(&call.work)) {
    return {bags->direction == Direction::Forward ? &kRandomRows : &kUpdate, &kRowLatency};
  }
  if (const auto* product = std::get_if<Gemm>(&call.work)) {
    if (call.type == DataType::TF32 && gpu.efficiency->tf32) return {&kTf32};
    if (call.type != DataType::FP32) return {&kTensor};
    return {product->batch > 1 ? &kBatched : &kSingle};
  }
  return {};
}

double log_error(const KernelMeasurement& row, const GpuSpec& gpu) {
  return std::log(model_for(row.call).predict(row.call, gpu).duration / row.time);
}

std::vector<double> errors_of(const KernelMeasurements& rows, const GpuSpec& gpu) {
  std::vector<double> errors;
  for (const KernelMeasurement& row : rows) errors.push_back(std::expm1(log_error(row, gpu)));
  return errors;
}

/// Rows by what is done with them; those of a family in families.
class Fitting {
 public:
  Fitting(const KernelMeasurements& measurements, GpuSpec gpu, double held_out) : gpu_{std::move(gpu)} {
    gpu_.learned.reset();
    std::map<std::string, KernelMeasurements> families;
    for (const KernelMeasurement& row : measurements) {
      const bool is_told = !constants_of(row.call, gpu_).empty();
      (is_told ? families[family_of(row.call)] : others_[kNoConstant]).push_back(row);
    }
    split(families, held_out);
    check();
    leave_out_small_ones();
    keep_those([&](const Constant& constant) {
      return matters(constant) ? std::string{} : "no fitted row depends on it";
    });
  }

  ConstantFit run() {
    std::vector<double> found = least_logs();
    while (keep_what_is_no_better(found)) found = least_logs();
    ConstantFit fit;
    fit.unused = others_[kNoConstant].size();
    fit.kept = kept_;
    fit.split_with_m = split_with_m_;
    fit.start = gpu_.efficiency->name;
    fit.start_is_own = is_own(evidence_for(gpu_.provenance, "efficiency").is);
    const GpuSpec after = scaled(found);
    fit.efficiency = after.efficiency.value;
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      const Constant& constant = *constants_[i];
      const double unit = constant.unit == ConstantUnit::Time ? kMicro : 1;
      fit.constants.push_back({.key = constant.key,
                               .before = unit * constant.read(gpu_.efficiency.value),
                               .after = constant.unit == ConstantUnit::Factor
                                            ? std::exp(std::min(found[i], most_log(constant)))
                                            : unit * constant.read(fit.efficiency),
                               .unit = constant.unit == ConstantUnit::Time ? "us" : "",
                               .plausible = plausible_factor(constant.unit)});
    }
    judge(after, fit);
    return fit;
  }

 private:
  [[nodiscard]] std::string family_of(const KernelCall& call) const {
    std::string name;
    for (const Constant* constant : constants_of(call, gpu_)) {
      name += (name.empty() ? "" : ", ") + std::string{constant->key};
    }
    return name;
  }

  void split(const std::map<std::string, KernelMeasurements>& families, double held_out) {
    for (const auto& [family, rows] : families) {
      SplitRows parts = split_by_shape(rows, held_out);
      if (parts.with_m) split_with_m_.push_back(family);
      if (!parts.fitted.empty()) fitted_[family] = std::move(parts.fitted);
      if (!parts.held_out.empty()) held_out_[family] = std::move(parts.held_out);
    }
  }

  void add(const Constant* constant) {
    if (std::ranges::find(constants_, constant) == constants_.end()) constants_.push_back(constant);
  }

  void check() const {
    if (fitted_.empty()) {
      throw std::invalid_argument{
          "no row tells a constant: they are of pointwise, softmax, layer_norm, embeddings and gemm"};
    }
  }

  /// Families of which there are too few rows are as if they were not there. @throws std::invalid_argument
  /// where there is no other
  void leave_out_small_ones() {
    for (auto at = fitted_.begin(); at != fitted_.end();) {
      if (at->second.size() >= kFewestRows) {
        ++at;
        continue;
      }
      kept_.push_back(
          {at->first, fmt::format("{} rows to fit it to are too few: at least {} beside those held out",
                                  at->second.size(), kFewestRows)});
      others_[at->first] = std::move(at->second);
      at = fitted_.erase(at);
    }
    if (fitted_.empty()) {
      throw std::invalid_argument{fmt::format("{}: {}", kept_.front().key, kept_.front().why)};
    }
    std::erase_if(held_out_, [&](const auto& of) {
      const bool is_alone = !fitted_.contains(of.first);
      if (is_alone) others_[of.first].insert(others_[of.first].end(), of.second.begin(), of.second.end());
      return is_alone;
    });
    for (const auto& [family, rows] : fitted_) {
      all_fitted_.insert(all_fitted_.end(), rows.begin(), rows.end());
      for (const Constant* constant : constants_of(rows.front().call, gpu_)) add(constant);
    }
  }

  [[nodiscard]] GpuSpec scaled(std::span<const double> logs) const {
    GpuSpec guess = gpu_;
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      constants_[i]->scale(guess.efficiency.value, std::exp(logs[i]));
    }
    return guess;
  }

  /// Whether a tenth less of it moves any fitted row by a thousandth.
  [[nodiscard]] bool matters(const Constant& constant) const {
    GpuSpec moved = gpu_;
    constant.scale(moved.efficiency.value, 0.9);
    return std::ranges::any_of(all_fitted_, [&](const KernelMeasurement& row) {
      return std::abs(log_error(row, moved) - log_error(row, gpu_)) > 1e-3;
    });
  }

  /// The logarithms of factors on the constants that fit best.
  [[nodiscard]] std::vector<double> least_logs() const {
    std::vector<double> start;
    for (const Constant* constant : constants_) start.push_back(start_of(*constant));
    return least_squares(
        [&](std::span<const double> logs) {
          const GpuSpec guess = scaled(logs);
          std::vector<double> residuals;
          for (const KernelMeasurement& row : all_fitted_) {
            residuals.push_back(softened(log_error(row, guess) / kExpectedError));
          }
          return residuals;
        },
        start);
  }

  /// The start of the fit; at the upper limit, a small step up would change nothing, as if it fitted best.
  [[nodiscard]] double start_of(const Constant& constant) const {
    constexpr double kBelow = 0.05;
    return most_log(constant) < kBelow ? -kBelow : 0;
  }

  /// Leaves constants for which @p why says something as they are. @returns whether there were any
  template <class Why>
  bool keep_those(const Why& why) {
    std::vector<const Constant*> others;
    for (const Constant* constant : constants_) {
      const std::string reason = why(*constant);
      if (reason.empty()) {
        others.push_back(constant);
      } else {
        kept_.push_back({constant->key, reason});
      }
    }
    const bool is_any = others.size() < constants_.size();
    constants_ = std::move(others);
    return is_any;
  }

  struct MeanErrors {  ///< absolute, before the constants moved and after
    double before = 0, after = 0;
    std::size_t rows = 0;
  };

  /// Mean errors of the rows that depend on a constant.
  [[nodiscard]] MeanErrors means_of(const std::map<std::string, KernelMeasurements>& families,
                                    const Constant& constant, const GpuSpec& after) const {
    MeanErrors mean;
    for (const auto& [family, rows] : families) {
      if (rows.empty() || !depends_on(rows.front(), constant)) continue;
      for (const double error : errors_of(rows, gpu_)) mean.before += std::abs(error);
      for (const double error : errors_of(rows, after)) mean.after += std::abs(error);
      mean.rows += rows.size();
    }
    mean.before /= static_cast<double>(mean.rows);
    mean.after /= static_cast<double>(mean.rows);
    return mean;
  }

  /// Why a constant is not taken; "" where the rows are missed by less.
  static std::string worse(const MeanErrors& mean, const char* rows) {
    if (mean.after < mean.before) return {};
    return fmt::format("fitted, the rows {} would be missed by {:.1f} %, not {:.1f} %", rows,
                       100 * mean.after, 100 * mean.before);
  }

  bool keep_what_is_no_better(std::span<const double> logs) {
    const GpuSpec after = scaled(logs);
    return keep_those([&](const Constant& constant) {
      constexpr double kMoved = 1e-3;
      if (std::abs(logs_of(constant, logs)) < kMoved) return std::string{"the fitted rows want no other"};
      if (logs_of(constant, logs) > 0 && most_log(constant) < kMoved) {
        return std::string{"the rows want more, and it is the most it can be"};
      }
      const MeanErrors held_out = means_of(held_out_, constant, after);
      if (held_out.rows == 0) {
        return std::string{"no row that depends on it is held out: more shapes are needed"};
      }
      const std::string reason = worse(held_out, "held out");
      return reason.empty() ? worse(means_of(fitted_, constant, after), "that it is fitted to") : reason;
    });
  }

  /// The logarithm of the largest factor.
  [[nodiscard]] double most_log(const Constant& constant) const {
    return constant.most == nullptr ? std::numeric_limits<double>::infinity()
                                    : std::log(constant.most(gpu_.efficiency.value));
  }

  [[nodiscard]] double logs_of(const Constant& constant, std::span<const double> logs) const {
    return logs[static_cast<std::size_t>(std::ranges::find(constants_, &constant) - constants_.begin())];
  }

  [[nodiscard]] bool depends_on(const KernelMeasurement& row, const Constant& constant) const {
    const std::vector<const Constant*> its = constants_of(row.call, gpu_);
    return std::ranges::find(its, &constant) != its.end();
  }

  void add_residuals(const std::string& family, const KernelMeasurements& rows, const char* part,
                     const GpuSpec& after, ConstantFit& fit) const {
    for (const KernelMeasurement& row : rows) {
      const KernelModel& model = model_for(row.call);
      fit.residuals.push_back({row, model.predict(row.call, gpu_).duration,
                               model.predict(row.call, after).duration, family, part});
    }
  }

  void judge(const GpuSpec& after, ConstantFit& fit) {
    double sum_before = 0, sum_after = 0;
    std::size_t count = 0;
    for (const auto& [family, rows] : fitted_) {
      ConstantErrors errors{.family = family,
                            .fitted_before = errors_of(rows, gpu_),
                            .fitted_after = errors_of(rows, after),
                            .held_out_before = errors_of(held_out_[family], gpu_),
                            .held_out_after = errors_of(held_out_[family], after)};
      for (const double error : errors.held_out_before) sum_before += std::abs(error);
      for (const double error : errors.held_out_after) sum_after += std::abs(error);
      count += errors.held_out_after.size();
      add_residuals(family, rows, "fitted", after, fit);
      add_residuals(family, held_out_[family], "held out", after, fit);
      fit.families.push_back(std::move(errors));
    }
    for (const auto& [family, rows] : others_) add_residuals(family, rows, "not fitted", after, fit);
    if (count == 0) throw std::invalid_argument{"no row is held out: the rows of a kind are of one shape"};
    fit.error = sum_after / static_cast<double>(count);
    if (fit.constants.empty()) {
      std::string reasons;
      for (const KeptConstant& kept : fit.kept) reasons += fmt::format("\n  {}: {}", kept.key, kept.why);
      throw std::invalid_argument{
          fmt::format("nothing to write: all constants stay as they are, {:.1f} % off on the rows held out{}",
                      100 * sum_before / static_cast<double>(count), reasons)};
    }
  }

  GpuSpec gpu_;
  std::map<std::string, KernelMeasurements> fitted_, held_out_, others_;  // by family
  KernelMeasurements all_fitted_;
  std::vector<const Constant*> constants_;
  std::vector<KeptConstant> kept_;
  std::vector<std::string> split_with_m_;
};

}  // namespace

ConstantFit fit_constants(const KernelMeasurements& measurements, const GpuByName& gpu, double held_out) {
  if (measurements.empty()) throw std::invalid_argument{"the tables hold no measurements"};
  const std::string& name = measurements.front().gpu;
  for (const KernelMeasurement& row : measurements) {
    if (row.gpu != name) {
      throw std::invalid_argument{
          fmt::format("constants are those of one GPU: the tables have {} and {}", name, row.gpu)};
    }
  }
  ConstantFit fit = Fitting{measurements, gpu(name), held_out}.run();
  fit.gpu = name;
  return fit;
}

}  // namespace lockstep
