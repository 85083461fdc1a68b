#pragma once

#include <cstddef>
#include <optional>

#include "synth/model.hpp"

namespace lockstep::synth {

/// How buckets of whole gradients fill, read off those of a job: gradients join the open bucket in their
/// order, and the one that fills it closes it. *Source*: torch/csrc/distributed/c10d/reducer.cpp,
/// compute_bucket_assignment_by_size.
struct BucketRule {
  double first = 0, others = 0;  ///< elements that close the first bucket, the others
  double beside = 1;             ///< elements of a bucket over those of the gradients that kernels tell
  bool is_tied = false;          ///< a gradient with a side of the vocabulary is complete at the end alone
  double tail = 0;               ///< elements of the last bucket that no kernel tells: embeddings
  std::size_t delay = 0;         ///< tokens between the matrix that fills a bucket and the collective
};

/// The rule that gives all buckets of @p tmpl to 2 %; none where there is no such rule (gradients of several
/// steps or micro-batches, buckets of slices or of layers, fewer than three buckets). Of the limits that
/// explain the buckets, PyTorch's defaults come first (1 MiB, 25 MiB).
[[nodiscard]] std::optional<BucketRule> bucket_rule(const Template& tmpl, const Symbols& fitted);

/// Fills buckets by a rule, for other sizes.
class BucketFiller {
 public:
  BucketFiller(const BucketRule& rule, const Symbols& symbols) : rule_{rule}, symbols_{symbols} {}

  /// A kernel ends. @returns whether its gradient, of a matrix, closes the bucket. Gradients of vectors
  /// beside it still join until take().
  bool add(const KernelEntry& kernel);

  /// Elements of the bucket that is closed; the next one opens.
  [[nodiscard]] double take();

  /// Elements of the last bucket. @param growth of the parameters that no kernel tells
  [[nodiscard]] double rest(double growth) const;

 private:
  const BucketRule& rule_;
  const Symbols& symbols_;
  double open_ = 0;  // elements of gradients in the open bucket
  double tied_ = 0;
  bool is_first_ = true;
};

}  // namespace lockstep::synth
