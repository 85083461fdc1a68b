#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "synth/bucket_rule.hpp"
#include "synth/buckets.hpp"
#include "synth/launch_rows.hpp"
#include "synth/model.hpp"
#include "synth/sample.hpp"

namespace lockstep::synth {

/// Factors on sizes that grow with the parameters.
struct Growth {
  double kernels = 1, calls = 1;  ///< outside of the layers
  double layer = 1;               ///< within one
};

/// Growth of a template's sizes from the symbols of its job to @p symbols. All gradients are reduced:
/// collectives outside of layers reduce what layers leave.
[[nodiscard]] Growth growth_of(const JobModel& job, const Template& tmpl, const Symbols& symbols);

/// Whether draws of the same template differ.
[[nodiscard]] bool varies(const Template& tmpl, const Model& model);

/// Writes Programs of a template.
class ProgramSampler {
 public:
  ProgramSampler(const Model& model, const JobModel& job, const Template& tmpl, const SampleOptions& options);

  /// Evaluates the sizes of all entries. @param gpu that shapes are timed for
  void use(const Symbols& symbols, const Growth& growth, const GpuSpec& gpu);

  /// Draws one. @param variant of those ranks that do the same @param repairs counts waits left out
  [[nodiscard]] Program program(std::uint32_t variant, std::uint64_t& repairs);

 private:
  void add_kernel(const KernelEntry& entry, double parameters, const GpuSpec& gpu);
  [[nodiscard]] KernelWork work_of(const KernelEntry& entry, double parameters) const;
  [[nodiscard]] DataType type_of(const KernelEntry& entry) const;
  [[nodiscard]] CollectiveCall call_of(const CallEntry& entry, double parameters) const;
  [[nodiscard]] double spread_of(const KernelEntry& entry) const;
  [[nodiscard]] bool has_other_parameters() const { return growth_.kernels != 1 || growth_.layer != 1; }
  void expand_with_buckets(std::uint32_t number, Program& made);
  void expand_with_last_bucket(std::uint32_t number, Program& made);
  void push(const Item& item, std::size_t growth, Program& made);
  void start_bucket(Program& made);
  void append(const DrawnBucket& bucket, Program& made);
  void expand(std::span<const Item> items, bool in_layer, Program& made);
  void expand(const LaunchRow& row, Program& made);
  /// @param growth which of growths_ the item's sizes have
  [[nodiscard]] Token drawn(const Item& item, std::size_t growth, Program& made);
  [[nodiscard]] std::size_t drawn_launches(const LaunchRow& row) const;
  [[nodiscard]] double growth_within(const LaunchRow& row) const;

  const Model& model_;
  const JobModel& job_;
  const Template& template_;
  const SampleOptions& options_;
  Random random_;
  std::uint64_t place_ = 0;
  Symbols symbols_;
  Growth growth_;
  std::vector<LaunchRow> rows_;
  std::optional<BucketRule> rule_;      // of the recorded buckets
  std::optional<BucketFiller> filler_;  // while a Program with other parameters is drawn
  std::optional<std::size_t> delay_;    // tokens before the collective of a full bucket
  std::size_t closed_ = 0;              // buckets
  std::vector<double> growths_;         // of kernels: outside of layers, within one, in rows
  Program program_;                     // has each kernel once for each of them
  std::vector<double> seconds_;         // by kernel
  std::vector<Token> tokens_;
};

}  // namespace lockstep::synth
