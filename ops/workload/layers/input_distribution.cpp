#include "ops/workload/layers/input_distribution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr DataType kLength = DataType::INT32;  // of a bag
constexpr DataType kSize = DataType::INT64;
constexpr std::int64_t kSizesOfGroup = 3;  // of lengths, of values, and the batch: for each rank

using Elements = std::function<std::int64_t(std::size_t rank)>;

KernelCall pass(const char* name, DataType type, std::int64_t elements, double reads, double writes) {
  return {name, type, Pointwise{.elements = elements, .reads = reads, .writes = writes, .flops = 1}};
}

void over(StepWriter& step, const char* name, DataType type, const Elements& elements, double reads,
          double writes) {
  step.launch_by_rank([&](std::size_t rank) { return pass(name, type, elements(rank), reads, writes); });
}

/// Lengths to offsets, with a 0 in front where @p complete.
void scan(StepWriter& step, const Elements& lengths, bool complete) {
  if (complete) {
    step.launch(kernels::fill(1, kLength));
  }
  step.launch({"DeviceScanInitKernel", kLength, Pointwise{.elements = 1, .reads = 0}});
  over(step, "DeviceScanKernel", kLength, lengths, 1, 1);
}

/// Lengths and values of features in another order.
void permute(StepWriter& step, const Elements& lengths, const Elements& values, DataType index) {
  step.program().begin("fbgemm::permute_2D_sparse_data");
  over(step, "permute_2D_lengths_kernel", kLength, lengths, 1, 1);
  scan(step, lengths, false);
  scan(step, lengths, true);
  over(step, "permute_2D_data_kernel", index, values, 1, 1);
  step.program().end();
}

bool is_cut_by_rows(TableSharding sharding) {
  return sharding == TableSharding::RowWise || sharding == TableSharding::TableRowWise;
}

std::int64_t tables_of(const InputGroup& group, std::size_t rank) {
  return static_cast<std::int64_t>(group.bags.tables[rank].size());
}

}  // namespace

InputDistribution::InputDistribution(StepWriter& step, std::span<const InputGroup> groups,
                                     std::int64_t local_batch, DataType index, bool fused)
    : step_{step},
      groups_{groups.begin(), groups.end()},
      local_batch_{local_batch},
      index_{index},
      fused_{fused} {
  exchanged_ = static_cast<std::size_t>(std::count_if(groups_.begin(), groups_.end(), [](const auto& group) {
    return group.sharding != TableSharding::DataParallel;
  }));
  const auto ranks = static_cast<std::int64_t>(step.ranks());
  for (const InputGroup& group : groups_) {
    std::int64_t lookups = 0, tables = 0;
    for (std::size_t rank = 0; rank < step.ranks(); ++rank) {
      lookups += group.bags.lookups(rank);
      tables += tables_of(group, rank);
    }
    local_.push_back({.lookups = lookups / ranks, .bags = local_batch * tables / group.holders});
  }
}

std::string InputDistribution::name(const char* what, std::size_t group) const {
  return fmt::format("input {} {}", what, group);
}

/// Each index to the block of rows that holds it: counted, then moved.
void InputDistribution::bucketize(std::size_t group) {
  const auto lookups = [&](std::size_t) { return local_[group].lookups; };
  const auto bags = [&](std::size_t) { return local_[group].bags; };
  const auto parts = [&](std::size_t) { return local_[group].bags * groups_[group].holders; };
  step_.program().begin("fbgemm::block_bucketize_sparse_features");
  scan(step_, bags, false);
  over(step_, "_block_bucketize_sparse_features_cuda_kernel1", index_, lookups, 1, 0);
  scan(step_, parts, false);
  over(step_, "_block_bucketize_sparse_features_cuda_kernel2", index_, lookups, 1, 1);
  step_.program().end();
}

/// Groups @p first to @p last (excluded) in one all-to-all.
void InputDistribution::tell_sizes(std::size_t first, std::size_t last) {
  const auto ranks = static_cast<std::int64_t>(step_.ranks());
  const auto tensors = kSizesOfGroup * static_cast<std::int64_t>(last - first);
  for (std::int64_t tensor = 0; tensor < tensors; ++tensor) {
    step_.blocking_copy("aten::to",
                        kernels::copy_to_device(static_cast<double>(ranks) * size_of(kSize), false));
  }
  step_.op("aten::stack", {kernels::concat(tensors * ranks, tensors, kSize)});
  step_.program().begin("c10d::alltoall_base_");
  step_.communicate({.kind = CollectiveKind::AllToAll,
                     .type = kSize,
                     .size = static_cast<double>(tensors * ranks) * size_of(kSize),
                     .send_bytes = {}},
                    {.name = name("sizes", first)});
  step_.program().end();
}

void InputDistribution::start() {
  const auto all = [&](auto of_group) {
    std::int64_t sum = 0;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      sum += of_group(group);
    }
    return sum;
  };
  permute(
      step_, [&](std::size_t) { return all([&](std::size_t group) { return local_[group].bags; }); },
      [&](std::size_t) { return all([&](std::size_t group) { return local_[group].lookups; }); }, index_);
  for (std::size_t group = 0; group < exchanged_; ++group) {
    if (is_cut_by_rows(groups_[group].sharding)) {
      bucketize(group);
    }
    if (!fused_) {
      tell_sizes(group, group + 1);
    }
  }
  if (fused_ && exchanged_ > 0) {
    tell_sizes(0, exchanged_);
  }
}

void InputDistribution::wait_for_sizes(std::size_t first, std::size_t last) {
  const auto sizes = kSizesOfGroup * static_cast<std::int64_t>((last - first) * step_.ranks());
  step_.wait_for(step_.end_of(name("sizes", first)));
  step_.blocking_copy("aten::to", kernels::copy_to_host(static_cast<double>(sizes) * size_of(kSize), false));
}

CollectiveCall InputDistribution::to_owners(std::size_t group, DataType type, bool lengths) const {
  const InputGroup& of = groups_[group];
  const auto ranks = static_cast<double>(step_.ranks());
  CollectiveCall call{.kind = CollectiveKind::AllToAll, .type = type, .size = {}, .send_bytes = {}};
  for (std::size_t peer = 0; peer < step_.ranks(); ++peer) {
    const double elements = lengths ? static_cast<double>(local_batch_ * tables_of(of, peer))
                                    : static_cast<double>(of.bags.lookups(peer)) / ranks;
    call.send_bytes.push_back((elements * size_of(type)).in_base_units());
    call.size += elements * size_of(type);
  }
  const bool even = std::all_of(call.send_bytes.begin(), call.send_bytes.end(),
                                [&](double bytes) { return bytes == call.send_bytes.front(); });
  if (even) {
    call.send_bytes.clear();
  }
  return call;
}

void InputDistribution::send_tensors(std::size_t group) {
  if (groups_[group].here) {
    step_.blocking_copy("aten::to", [&](std::size_t rank) {  // the order in which what comes is put together
      const auto parts = tables_of(groups_[group], rank) * static_cast<std::int64_t>(step_.ranks());
      return kernels::copy_to_device(static_cast<double>(parts) * size_of(DataType::INT32), false);
    });
  }
  for (const bool lengths : {true, false}) {
    step_.program().begin("c10d::alltoall_base_");
    step_.communicate(to_owners(group, lengths ? kLength : index_, lengths),
                      {.name = name(lengths ? "lengths" : "values", group)});
    step_.program().end();
  }
}

void InputDistribution::send() {
  if (fused_ && exchanged_ > 0) {
    wait_for_sizes(0, exchanged_);
  }
  for (std::size_t group = 0; group < exchanged_; ++group) {
    if (!fused_) {
      wait_for_sizes(group, group + 1);
    }
    send_tensors(group);
  }
}

void InputDistribution::receive_group(std::size_t group) {
  const InputGroup& of = groups_[group];
  const auto lengths = [&](std::size_t rank) { return of.bags.batch * tables_of(of, rank); };
  step_.wait_for(step_.end_of(name("lengths", group)));
  step_.wait_for(step_.end_of(name("values", group)));
  if (!of.here) {
    return;
  }
  permute(
      step_, lengths, [&](std::size_t rank) { return of.bags.lookups(rank); }, index_);
  step_.program().begin("aten::sum");  // of lengths, by table
  step_.launch_by_rank([&](std::size_t rank) { return kernels::cast(lengths(rank), kLength, kSize); });
  step_.launch_by_rank([&](std::size_t rank) {
    return kernels::reduce("sum", {.rows = tables_of(of, rank), .columns = of.bags.batch}, kSize);
  });
  step_.program().end();
  step_.blocking_copy("aten::to", [&](std::size_t rank) {
    return kernels::copy_to_host(static_cast<double>(tables_of(of, rank)) * size_of(kSize), false);
  });
}

void InputDistribution::receive() {
  for (std::size_t group = 0; group < exchanged_; ++group) {
    receive_group(group);
  }
}

void InputDistribution::offsets(std::size_t group) {
  const InputGroup& of = groups_[group];
  const auto lengths = [&](std::size_t rank) { return of.bags.batch * tables_of(of, rank); };
  step_.program().begin("fbgemm::asynchronous_complete_cumsum");
  scan(step_, lengths, true);
  step_.program().end();
  step_.program().begin("aten::to");
  step_.launch_by_rank(
      [&](std::size_t rank) { return kernels::cast(lengths(rank), kLength, DataType::INT64); });
  step_.program().end();
}

void InputDistribution::carry_over() {
  for (std::size_t group = 0; group < exchanged_; ++group) {
    step_.program().carry(step_.end_of(name("lengths", group)));
    step_.program().carry(step_.end_of(name("values", group)));
  }
}

}  // namespace lockstep
