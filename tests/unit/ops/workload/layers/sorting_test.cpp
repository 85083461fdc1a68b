#include "ops/workload/layers/sorting.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

const Pointwise& work(const KernelCall& call) {
  return std::get<Pointwise>(call.work);
}

std::ptrdiff_t named(const std::vector<KernelCall>& kernels, const std::string& name) {
  return std::ranges::count(kernels, name, &KernelCall::name);
}

TEST(Sorting, ASelectionHasABlockOfWholeWarpsASlice) {
  // 100 values: 128 threads, one value each. 500 + 500 instructions of 128 threads over 100 elements; the
  // last block's four warps have a scheduler each: 1,000 / 0.65 clocks are 7.7 loads of 200.
  const KernelCall small = kernels::select(16, 100, DataType::FP32);
  EXPECT_EQ(work(small).elements, 1600);
  EXPECT_DOUBLE_EQ(work(small).instructions, 1280);
  EXPECT_EQ(work(small).chain, 8);
  // 4,096 values: 1,024 threads with four each, 500 + 2,000 instructions, eight warps a scheduler.
  const KernelCall large = kernels::select(16, 4096, DataType::BF16);
  EXPECT_DOUBLE_EQ(work(large).instructions, 625);
  EXPECT_EQ(work(large).chain, 154);
}

TEST(Sorting, WhatWasSelectedIsSortedBySixteenThreadsASlice) {
  const auto kernels = kernels::top_k(1024, 64, 8, DataType::FP32);
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels.front(), kernels::select(1024, 64, DataType::FP32));
  EXPECT_DOUBLE_EQ(work(kernels.back()).instructions, 15 * 56 * 16 / 8.0);
  EXPECT_DOUBLE_EQ(work(kernels.back()).reads, 3);  // 4 bytes and an index of 8
}

TEST(Sorting, FewValuesAreSortedByABlock) {
  // Bytes: two passes of four bits over 32 keys of a thread, 0.59 loads each.
  const auto kernels = kernels::argsort(8, 4096, DataType::UINT8);
  ASSERT_EQ(kernels.size(), 5U);
  EXPECT_EQ(kernels[3].name, "radixSortKVInPlace");
  EXPECT_EQ(work(kernels[3]).chain, 38);
}

TEST(Sorting, ManyAreSortedByDigitsOfEightBits) {
  // pytorch_experts.csv: 22 kernels for 16,384 keys of 64 bits.
  const auto one = kernels::argsort(1, 16384, DataType::INT64);
  EXPECT_EQ(one.size(), 22U);
  EXPECT_EQ(named(one, "DeviceRadixSortOnesweepKernel"), 8);
  EXPECT_EQ(named(one, "Memset (Device)"), 10);
  // Bytes of eight slices: a pass for the byte, one for the three bits of the slice.
  EXPECT_EQ(named(kernels::argsort(8, 16384, DataType::UINT8), "DeviceRadixSortOnesweepKernel"), 2);
}

}  // namespace
}  // namespace lockstep
