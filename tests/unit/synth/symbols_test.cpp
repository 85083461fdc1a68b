#include "synth/symbols.hpp"

#include <gtest/gtest.h>

#include <array>

#include "synth/products.hpp"

namespace lockstep::synth {
namespace {

// 8 * 1024 is batch * sequence, not 8 * sequence or 8192.
TEST(Symbols, TheSimplestProductIsTaken) {
  const std::array<Symbols, 1> jobs{Symbols{{"batch", 8}, {"sequence", 1024}, {"hidden", 768}}};
  EXPECT_EQ(to_text(simplest_product(std::array{8192.0}, jobs)), "batch*sequence");
  EXPECT_EQ(to_text(simplest_product(std::array{3.0 * 768}, jobs)), "3*hidden");
  EXPECT_EQ(to_text(simplest_product(std::array{8.0 * 1024 * 1024}, jobs)), "batch*sequence^2");
  EXPECT_EQ(to_text(simplest_product(std::array{17.0}, jobs)), "17");
}

// 1024 is hidden in the first job and sequence in both: only sequence fits both.
TEST(Symbols, SecondJobsTellEqualSymbolsApart) {
  const std::array<Symbols, 2> jobs{Symbols{{"sequence", 1024}, {"hidden", 1024}},
                                    Symbols{{"sequence", 1024}, {"hidden", 2048}}};
  EXPECT_EQ(to_text(simplest_product(std::array{1024.0, 1024.0}, jobs)), "sequence");
  EXPECT_EQ(to_text(simplest_product(std::array{4096.0, 8192.0}, jobs)), "4*hidden");
}

// Heads are hidden / head_size: 768 / 64 = 12.
TEST(Symbols, HeadsFollowFromTheSizeOfOne) {
  const std::array<Symbols, 1> jobs{
      Symbols{{"hidden", 768}, {"head_size", 64}, {"sequence", 512}, {"batch", 4}}};
  const Monomial rows = simplest_product(std::array{4.0 * 12 * 512}, jobs);
  EXPECT_DOUBLE_EQ(rows.value({{"hidden", 1536}, {"head_size", 64}, {"sequence", 512}, {"batch", 4}}, 1),
                   4.0 * 24 * 512);
}

TEST(Symbols, KernelsTellTheSizesOfATransformer) {
  Template tmpl;
  const auto add = [&](KernelWork work) {
    tmpl.kernels.push_back({{"k", DataType::BF16, work}, {}, 0, 0, 1});
  };
  add(LayerNorm{8 * 1024, 768});
  add(Softmax{8 * 12 * 1024, 1024});
  add(Softmax{8 * 1023, 50257, Direction::Forward, true});
  const Symbols expected{
      {"batch", 8}, {"head_size", 64}, {"hidden", 768}, {"sequence", 1024}, {"vocabulary", 50257}};
  EXPECT_EQ(symbols_told_by(tmpl), expected);
}

// RMSNorm runs as element-wise kernels, which tell no columns. Each linear layer has a side of 2048 besides
// its tokens.
TEST(Symbols, LinearLayersTellTheHiddenSizeWhereNoNormDoes) {
  Template tmpl;
  const auto add = [&](KernelWork work) {
    tmpl.kernels.push_back({{"k", DataType::BF16, work}, {}, 0, 0, 1});
  };
  FlashAttention attention;
  attention.batch = 2;
  attention.queries = attention.keys = 4096;
  attention.head_size = 128;
  add(attention);
  add(Gemm{1, 8192, 2048, 2048});       // queries
  add(Gemm{1, 8192, 512, 2048});        // keys
  add(Gemm{1, 8192, 7168, 2048});       // up
  add(Gemm{1, 8192, 2048, 7168});       // down
  add(Gemm{16, 4096, 4096, 128});       // no linear layer
  add(Gemm{1, 512, 2048, 8192, true});  // the gradient of the keys' weight
  EXPECT_EQ(symbols_told_by(tmpl).at("hidden"), 2048);
  tmpl.kernels.pop_back();
  add(Gemm{1, 8192, 1000, 7168});
  EXPECT_FALSE(symbols_told_by(tmpl).contains("hidden"));
}

Item launch(std::uint32_t kernel) {
  Item item;
  item.token.op = Opcode::Launch;
  item.token.operand = kernel;
  return item;
}

Item block(std::uint32_t count, std::size_t launches) {
  Item item;
  item.count = count;
  item.body.assign(launches, launch(0));
  return item;
}

/// Two products of unlike shapes.
Template of_kernels(std::vector<Item> body) {
  Template tmpl;
  for (const std::int64_t n : {64, 128})
    tmpl.kernels.push_back({{"k", DataType::FP32, Gemm{1, 64, n, 64}}, {}, 0, 0, 1});
  tmpl.body = std::move(body);
  return tmpl;
}

TEST(Symbols, CountsOfLayersGrowWithThem) {
  const Symbols before{{"layers", 12}};
  const Symbols after{{"layers", 36}};
  EXPECT_EQ(count_with(block(12, 10), after, before), 36U);
  EXPECT_EQ(count_with(block(24, 10), after, before), 72U);  // two a layer
  EXPECT_EQ(count_with(block(11, 10), after, before), 35U);  // the first is another
  EXPECT_EQ(count_with(block(13, 10), after, before), 37U);
  EXPECT_EQ(count_with(block(5, 10), after, before), 5U);
  EXPECT_EQ(count_with(block(12, 2), after, before), 12U);  // too short for a layer
  EXPECT_EQ(count_with(block(12, 10), before, before), 12U);
}

TEST(Symbols, LayersAreTheCountThatMostIsIn) {
  EXPECT_EQ(layers_of(of_kernels({block(12, 10), block(4, 3), block(12, 20)})), 12U);
  EXPECT_EQ(layers_of(of_kernels({launch(0), block(2, 10)})), 0U);
}

// Six layers in a row, one before and one behind: kernels of a layer are launched eight times.
TEST(Symbols, LayersBesideTheirBlockCount) {
  const Item layer[] = {launch(0), launch(1), launch(1)};
  Item row;
  row.count = 6;
  row.body.assign(std::begin(layer), std::end(layer));
  std::vector<Item> body(std::begin(layer), std::end(layer));
  body.push_back(row);
  body.insert(body.end(), std::begin(layer), std::end(layer));
  EXPECT_EQ(layers_of(of_kernels(body)), 8U);
}

}  // namespace
}  // namespace lockstep::synth
