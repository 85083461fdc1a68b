#include "synth/bucket_rule.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "synth/symbols.hpp"

namespace lockstep::synth {
namespace {

constexpr double kBytes = 4, kMebibyte = 1024 * 1024;

/// The backward pass of layers that have matrices of hidden x 4, 1 and 3 hidden, with a bias each: buckets as
/// PyTorch's DistributedDataParallel closes them.
class ReducedJob {
 public:
  ReducedJob(double hidden, int layers, double most = 25 * kMebibyte) : most_{most} {
    symbols_ = {{"hidden", hidden}, {"batch", 512}};
    for (const double factor : {4, 1, 3}) matrices_.push_back(gradient(factor, hidden));
    bias_ = bias(hidden);
    for (int layer = 0; layer < layers; ++layer) {
      for (const std::uint32_t matrix : matrices_) add(matrix);
    }
    close(open_ + kEmbedding);
  }

  [[nodiscard]] const Template& tmpl() const { return tmpl_; }
  [[nodiscard]] const Symbols& symbols() const { return symbols_; }
  [[nodiscard]] const std::vector<double>& sizes() const { return sizes_; }

  static constexpr double kEmbedding = 1e6;  // elements

 private:
  std::uint32_t entry(const KernelWork& work, std::vector<Monomial> sizes) {
    tmpl_.kernels.push_back({{"k", DataType::FP32, work}, std::move(sizes), 0, 0, 1});
    return static_cast<std::uint32_t>(tmpl_.kernels.size() - 1);
  }
  std::uint32_t gradient(double factor, double hidden) {
    const Monomial side{1, {{"hidden", 1}}, false};
    const auto length = static_cast<std::int64_t>(hidden);
    return entry(Gemm{1, length, static_cast<std::int64_t>(factor) * length, 512},
                 {{1, {}, false}, side, {factor, side.powers, false}, {1, {{"batch", 1}}, false}});
  }
  std::uint32_t bias(double hidden) {
    return entry(Reduction{512, static_cast<std::int64_t>(hidden), true},
                 {{1, {{"batch", 1}}, false}, {1, {{"hidden", 1}}, false}});
  }

  void add(std::uint32_t matrix) {
    for (const std::uint32_t kernel : {matrix, bias_}) {
      Item item;
      item.token.op = Opcode::Launch;
      item.token.operand = kernel;
      tmpl_.body.push_back(item);
      open_ += gradient_elements(tmpl_.kernels[kernel], symbols_)->elements;
    }
    if (kBytes * open_ >= (sizes_.empty() ? std::min(kMebibyte, most_) : most_)) close(open_);
  }

  void close(double elements) {
    Token call;
    call.op = Opcode::Collective;
    call.operand = static_cast<std::uint32_t>(tmpl_.calls.size());
    tmpl_.calls.push_back(
        {{CollectiveKind::AllReduce, DataType::FP32, 0, Bytes{kBytes * elements}, {}, 0}, {}, 1});
    tmpl_.buckets.push_back({static_cast<std::uint32_t>(tmpl_.body.size() - 1), 1, {call}});
    sizes_.push_back(elements);
    open_ = 0;
  }

  double most_;
  Template tmpl_;
  Symbols symbols_;
  std::vector<std::uint32_t> matrices_;
  std::uint32_t bias_ = 0;
  double open_ = 0;
  std::vector<double> sizes_;
};

/// Buckets that the rule of one job gives another.
std::vector<double> told(const BucketRule& rule, const ReducedJob& job) {
  BucketFiller filler{rule, job.symbols()};
  std::vector<double> sizes;
  bool is_full = false;
  for (const Item& item : job.tmpl().body) {
    const KernelEntry& kernel = job.tmpl().kernels[item.token.operand];
    const bool is_matrix = gradient_elements(kernel, job.symbols())->is_matrix;
    if (is_full && is_matrix) {
      sizes.push_back(filler.take());
      is_full = false;
    }
    is_full = filler.add(kernel) || is_full;
  }
  if (is_full) sizes.push_back(filler.take());
  sizes.push_back(filler.rest(1));
  return sizes;
}

// 768: 2.36, 0.59 and 1.77 million elements; 25 MiB are 6.55 million. At 1,024: 4.19, 1.05 and 3.15 million.
TEST(BucketRule, GivesTheBucketsOfOtherSizes) {
  const ReducedJob small{768, 12};
  const auto rule = bucket_rule(small.tmpl(), small.symbols());
  ASSERT_TRUE(rule);
  EXPECT_DOUBLE_EQ(rule->first, kMebibyte / kBytes);
  EXPECT_DOUBLE_EQ(rule->others, 25 * kMebibyte / kBytes);
  EXPECT_DOUBLE_EQ(rule->beside, 1);
  EXPECT_DOUBLE_EQ(rule->tail, ReducedJob::kEmbedding);
  EXPECT_EQ(rule->delay, 1U);
  for (const auto& [hidden, layers] : {std::pair{1024.0, 12}, {2048.0, 12}, {768.0, 30}}) {
    const ReducedJob other{hidden, layers};
    EXPECT_EQ(told(*rule, other), other.sizes()) << hidden << " x " << layers;
  }
}

// A limit of 6 MiB: every number between what was too little and what was enough explains the buckets.
TEST(BucketRule, OtherLimitsAreToldToo) {
  const ReducedJob job{768, 12, 6 * kMebibyte};
  const auto rule = bucket_rule(job.tmpl(), job.symbols());
  ASSERT_TRUE(rule);
  EXPECT_EQ(told(*rule, job), job.sizes());
}

// A bucket of one layer each tells no limit.
TEST(BucketRule, BucketsOfLayersHaveNone) {
  const ReducedJob job{512, 6, kBytes * 8 * 512 * 512};
  EXPECT_FALSE(bucket_rule(job.tmpl(), job.symbols()));
}

TEST(BucketRule, TwoBucketsTellNone) {
  const ReducedJob job{768, 1};
  ASSERT_EQ(job.sizes().size(), 2U);
  EXPECT_FALSE(bucket_rule(job.tmpl(), job.symbols()));
}

}  // namespace
}  // namespace lockstep::synth
