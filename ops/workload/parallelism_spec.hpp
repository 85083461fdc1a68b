#pragma once

#include <array>
#include <optional>

#include "base/parameters.hpp"
#include "ops/workload/embedding_plan_spec.hpp"
#include "ops/workload/gradient_buckets.hpp"
#include "ops/workload/parallel/plan_spec.hpp"

namespace lockstep {

/// The parallelism of a DLRM's dense parameters.
enum class DenseParallelism : std::uint8_t { Data };
constexpr auto names_of(DenseParallelism) {
  return std::to_array<EnumName<DenseParallelism>>({{DenseParallelism::Data, "data"}});
}

/// How a model is spread over the GPUs of a cluster.
struct ParallelismSpec {
  std::optional<int> ranks, ranks_per_node;
  DenseParallelism dense = DenseParallelism::Data;
  TransformerPlanSpec transformer;
  EmbeddingPlanSpec embedding;
  Bytes bucket{BucketLimits{}.others};
  Bytes first_bucket{BucketLimits{}.first};

  template <class Visitor>
  static void describe(Visitor& key, ParallelismSpec& parallelism) {
    key.optional("ranks", parallelism.ranks, std::nullopt,
                 "how many GPUs, the first ones; all when left out");
    key.optional("ranks_per_node", parallelism.ranks_per_node, std::nullopt,
                 "how many GPUs of each node, the first ones; left out: all, or where the ranks have room in "
                 "fewer, as many as keep tensor, context and expert groups inside their nodes");
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
    if (ranks_per_node && *ranks_per_node < 1) {
      throw FieldError{"ranks_per_node", "'ranks_per_node' is at least 1"};
    }
    if (!(bucket > Bytes{0}) || !(first_bucket > Bytes{0})) {
      throw FieldError{bucket > Bytes{0} ? "first_bucket" : "bucket", "a bucket holds more than 0 B"};
    }
  }

  [[nodiscard]] BucketLimits buckets() const { return {.first = first_bucket, .others = bucket}; }
  bool operator==(const ParallelismSpec&) const = default;
};

}  // namespace lockstep
