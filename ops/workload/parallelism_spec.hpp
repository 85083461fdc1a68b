#pragma once

#include <array>
#include <optional>

#include "base/parameters.hpp"
#include "ops/workload/gradient_buckets.hpp"
#include "ops/workload/parallel/plan_spec.hpp"
#include "ops/workload/placement.hpp"

namespace lockstep {

/// How embedding tables are spread.
struct EmbeddingPlanSpec {
  EmbeddingPlanner planner = EmbeddingPlanner::SizeLookupGreedy;
  double memory_share = 0.8;
  bool respect_memory = true;

  template <class Visitor>
  static void describe(Visitor& key, EmbeddingPlanSpec& plan) {
    key.optional("planner", plan.planner, EmbeddingPlanner::SizeLookupGreedy,
                 "which table goes to which GPU");
    key.optional("memory_share", plan.memory_share, 0.8,
                 "part of a GPU's memory that tables may fill (0.8: Lin et al., arXiv 2404.12674)");
    key.optional(
        "respect_memory", plan.respect_memory, true,
        "false places tables as if memory were endless; their look-ups cost what they would cost in device "
        "memory");
  }

  void check() const {
    if (!(memory_share > 0) || memory_share > 1) {
      throw FieldError{"memory_share", "'memory_share' is a fraction above 0, at most 1"};
    }
  }
};

/// What is done with dense parameters of a DLRM.
enum class DenseParallelism : std::uint8_t { Data };
constexpr auto names_of(DenseParallelism) {
  return std::to_array<EnumName<DenseParallelism>>({{DenseParallelism::Data, "data"}});
}

/// How a model is spread over the GPUs of a cluster.
struct ParallelismSpec {
  std::optional<int> ranks;
  DenseParallelism dense = DenseParallelism::Data;
  TransformerPlanSpec transformer;
  EmbeddingPlanSpec embedding;
  Bytes bucket{BucketLimits{}.others};
  Bytes first_bucket{BucketLimits{}.first};

  template <class Visitor>
  static void describe(Visitor& key, ParallelismSpec& parallelism) {
    key.optional("ranks", parallelism.ranks, std::nullopt,
                 "how many GPUs, the first ones; all when left out");
    key.optional("dense", parallelism.dense, DenseParallelism::Data,
                 "dense parameters of a DLRM: replicated, with gradients all-reduced in buckets");
    TransformerPlanSpec::describe(key, parallelism.transformer);
    key.optional("embedding", parallelism.embedding, EmbeddingPlanSpec{}, "placement of embedding tables");
    key.optional("bucket", parallelism.bucket, BucketLimits{}.others,
                 "gradients per all-reduce, e.g. 25 MiB");
    key.optional("first_bucket", parallelism.first_bucket, BucketLimits{}.first,
                 "likewise for the first one, smaller to start early");
  }

  void check() const {
    transformer.check();
    if (ranks && *ranks < 1) {
      throw FieldError{"ranks", "'ranks' is at least 1"};
    }
    if (!(bucket > Bytes{0}) || !(first_bucket > Bytes{0})) {
      throw FieldError{bucket > Bytes{0} ? "first_bucket" : "bucket", "a bucket holds more than 0 B"};
    }
  }

  [[nodiscard]] BucketLimits buckets() const { return {.first = first_bucket, .others = bucket}; }
};

}  // namespace lockstep
