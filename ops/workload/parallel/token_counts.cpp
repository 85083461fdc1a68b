#include "ops/workload/parallel/token_counts.hpp"

#include <string>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr DataType kCount = DataType::INT64;
constexpr const char* kCopies = "counts to host";  // the dispatcher's cuda_dtoh_stream

Bytes bytes_of(std::int64_t counts) {
  return static_cast<double>(counts) * size_of(kCount);
}

void sum_columns(const LayerScope& scope, std::int64_t rows, std::int64_t columns) {
  scope.step.op("aten::sum", {kernels::reduce("sum", {.rows = rows, .columns = columns}, kCount)});
}

/// Behind what the compute stream has so far; the host goes on.
void copy_to_host(const LayerScope& scope, std::initializer_list<std::int64_t> counts) {
  const EventId counted = scope.step.program().event();
  scope.step.program().record(scope.step.current(), counted);
  const StreamScope beside{scope.step, kCopies};
  scope.step.program().stream_wait(scope.step.current(), counted);
  for (const std::int64_t count : counts) {
    scope.step.op("aten::to", {kernels::copy_to_host(bytes_of(count), true)});
  }
}

}  // namespace

void count_tokens(const LayerScope& scope) {
  const ExpertsSpec& spec = *scope.model.experts;
  if (spec.are_padded()) {
    return;
  }
  const std::int64_t places = scope.plan.spec.expert, sharers = scope.plan.spec.expert_tensor;
  const std::int64_t ranks = places * sharers, here = spec.count / places;
  scope.step.op(
      "aten::sum",
      {kernels::reduce("sum", {.rows = scope.sizes.rows, .columns = spec.count, .across_rows = true},
                       DataType::BOOL)});
  const bool splits =
      !spec.fused_permutation && here > 1;  // torch.split() wants the pieces of the exchange, too
  if (ranks == 1) {
    splits ? copy_to_host(scope, {spec.count, spec.count}) : copy_to_host(scope, {spec.count});
    return;
  }
  sum_columns(scope, places, here);  // what this rank sends to each
  communicate_counts(scope, CollectiveKind::AllGather, "etp_ep", static_cast<int>(ranks), ranks * spec.count);
  scope.step.op("aten::contiguous", {kernels::strided_copy(ranks * here, kCount)});
  sum_columns(scope, ranks, here);      // what it gets from each
  sum_columns(scope, sharers, places);  // and from those of its place
  scope.step.op("aten::sum",            // for each of its experts
                {kernels::reduce("sum", {.rows = ranks, .columns = here, .across_rows = true}, kCount)});
  splits ? copy_to_host(scope, {here, places, places, sharers, ranks * here})
         : copy_to_host(scope, {here, places, places, sharers});
}

void communicate_counts(const LayerScope& scope, CollectiveKind kind, std::string_view group, int ranks,
                        std::int64_t counts) {
  if (ranks == 1) {
    return;
  }
  scope.step.program().begin(to_string(kind));
  const EventId end =
      scope.step.communicate(group, "nccl " + std::string{group},
                             {.kind = kind, .type = kCount, .size = bytes_of(counts), .send_bytes = {}});
  scope.step.program().end();
  scope.step.wait_for(end);
}

void wait_for_counts(const LayerScope& scope) {
  if (!scope.model.experts->are_padded()) {
    scope.step.program().wait_stream(scope.step.program().stream(kCopies));
  }
}

}  // namespace lockstep
