#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep::validation {

/// Gathers relative errors of predictions of one family on one GPU and prints them as one line of a table.
class ErrorTable {
 public:
  ErrorTable(std::string family, const std::string& gpu)
      : family_{std::move(family)},
        gpu_{read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + gpu + ".yaml")} {}

  void add(const KernelCall& call, Seconds measured) {
    const Prediction prediction = model_for(call).predict(call, gpu_);
    const double error = prediction.duration / measured - 1;
    sum_ += std::abs(error);
    sum_of_logs_ += std::log(std::abs(error) + 4e-4);  // as Lin et al. define their geometric mean
    sum_of_ratios_ += std::log(prediction.duration / measured);
    within_band_ += std::abs(error) <= prediction.band ? 1 : 0;
    ++count_;
  }

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] double mean() const { return sum_ / count_; }
  [[nodiscard]] double geometric_mean() const { return std::exp(sum_of_logs_ / count_); }

  void print() const {
    fmt::print(
        "{:<28} {:<26} {:>6} rows  geometric mean {:5.1f} %  mean {:5.1f} %  bias {:+5.1f} %  in band "
        "{:3.0f} %\n",
        family_, gpu_.name, count_, 100 * geometric_mean(), 100 * mean(),
        100 * std::expm1(sum_of_ratios_ / count_), 100.0 * within_band_ / count_);
  }

 private:
  std::string family_;
  GpuSpec gpu_;
  int count_ = 0;
  int within_band_ = 0;
  double sum_ = 0;
  double sum_of_logs_ = 0;
  double sum_of_ratios_ = 0;
};

}  // namespace lockstep::validation
