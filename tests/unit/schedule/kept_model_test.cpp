#include "schedule/kept_model.hpp"

#include <gmock/gmock.h>

#include "base/yaml_reader.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelSpec shipped(const std::string& name) {
  const ConfigPath configs = ConfigPath::standard();
  return read_file<ModelSpec>(configs.find("models", name), configs);
}

TransformerPlanSpec tensor_parallel(int ranks) {
  TransformerPlanSpec plan;
  plan.tensor = ranks;
  return plan;
}

TEST(KeptWidth, IsTheNearestMultipleWithinTheFullWidth) {
  EXPECT_EQ(kept_width(1024, 0.5, 64), 512);
  EXPECT_EQ(kept_width(1000, 0.5, 64), 512);  // 500 is 7.8 x 64
  EXPECT_EQ(kept_width(1000, 0.5, 1), 500);
  EXPECT_EQ(kept_width(50, 0.5, 64), 50);      // never wider than it is
  EXPECT_EQ(kept_width(1024, 0.01, 64), 64);   // at least one tile
  EXPECT_EQ(kept_width(50257, 1, 64), 50257);  // full is full, whatever it is a multiple of
}

TEST(KeptModel, ADlrmsMlpsKeepTheirEnds) {
  const KeptModel kept =
      kept_model(shipped("dlrm_mlperf"), {{LayerGroup::TopMlp, 0.5}, {LayerGroup::BottomMlp, 0.75}}, 64, {});
  EXPECT_THAT(kept.model.dlrm->top_mlp, ElementsAre(512, 512, 256, 128, 1));
  EXPECT_THAT(kept.model.dlrm->bottom_mlp, ElementsAre(13, 384, 192, 128));
  EXPECT_EQ(kept.widths.size(), 2U);
  EXPECT_EQ(kept.structures, 512 + 256 + 1024 + 1024 + 512 + 256);
}

TEST(KeptModel, TheDotInteractionTiesTheBottomMlpToTheTables) {
  const ModelSpec full = shipped("dlrm_mlperf");
  const KeptModel kept = kept_model(full, {{LayerGroup::EmbeddingDim, 0.5}}, 64, {});
  EXPECT_EQ(kept.model.dlrm->bottom_mlp.back(), 64);
  EXPECT_EQ(kept.model.dlrm->tables.front().dimension, 64);
  // 27 features have 351 pairs, however wide they are.
  EXPECT_EQ(kept.model.dlrm->interaction_width(), 64 + 351);
}

TEST(KeptModel, RowsAreKeptOfTablesAsTheyAreHashed) {
  const KeptModel kept = kept_model(shipped("dlrm_mlperf"), {{LayerGroup::EmbeddingRows, 0.25}}, 64, {});
  const auto tables = kept.model.dlrm->all_tables();
  EXPECT_EQ(tables[0].rows, 39884406 / 4 + 1);  // 9971101.5, to the nearest
  EXPECT_EQ(tables[5].rows, 1);                 // of 3
}

TEST(KeptModel, InteractionLosesTables) {
  const KeptModel kept = kept_model(shipped("dlrm_mlperf"), {{LayerGroup::Interaction, 0.5}}, 64, {});
  EXPECT_EQ(kept.model.dlrm->all_tables().size(), 13U);
  EXPECT_EQ(kept.model.dlrm->interaction_width(), 128 + 14 * 13 / 2);
}

TEST(KeptModel, HeadsKeepTheirSizeAndHiddenFollowsThem) {
  const ModelSpec full = shipped("gpt3_6b7");  // 32 heads of 128
  const KeptModel narrow = kept_model(full, {{LayerGroup::Heads, 0.5}, {LayerGroup::Hidden, 0.5}}, 64, {});
  EXPECT_EQ(narrow.model.transformer->hidden, 2048);
  EXPECT_EQ(narrow.model.transformer->size_of_head(), 128);
  EXPECT_EQ(narrow.model.transformer->feed_forward_width(), 4 * 2048);
  const KeptModel fewer = kept_model(full, {{LayerGroup::Heads, 0.5}}, 64, {});
  EXPECT_EQ(fewer.model.transformer->hidden, 4096);
  EXPECT_EQ(fewer.model.transformer->size_of_head(), 128);
}

TEST(KeptModel, WhatDoesNotDivideIsToldWithTheNearestThatDoes) {
  try {
    (void)kept_model(shipped("gpt3_6b7"), {{LayerGroup::Heads, 0.7}}, 64, tensor_parallel(8));
    FAIL() << "22 heads on 8 ranks";
  } catch (const FieldError& problem) {
    EXPECT_EQ(problem.key(), "heads");
    EXPECT_THAT(problem.what(),
                HasSubstr("22 heads cannot be divided among 8 tensor-parallel ranks: the nearest "
                          "that can is 24 (keep 0.75)"));
  }
}

TEST(KeptModel, AGroupOfAnotherFamilyIsToldWithThoseThereAre) {
  try {
    (void)kept_model(shipped("dlrm_mlperf"), {{LayerGroup::Hidden, 0.5}}, 64, {});
    FAIL() << "a DLRM has no hidden width";
  } catch (const FieldError& problem) {
    EXPECT_EQ(problem.key(), "hidden");
    EXPECT_THAT(problem.what(), HasSubstr("a DLRM has no such group; it has bottom_mlp, top_mlp"));
  }
}

TEST(KeptModel, ChannelsShrinkAlikeSoThatBranchesStillJoin) {
  const KeptModel kept = kept_model(shipped("resnet50"), {{LayerGroup::Channels, 0.5}}, 8, {});
  kept.model.cnn->check();
  EXPECT_EQ(kept.model.cnn->blocks[1].branches[0][2], "conv 128 1x1 linear");
  EXPECT_EQ(kept.model.cnn->blocks[0].branches[0][1], "max_pool 3x3 /2");
}

TEST(KeptModel, BothStacksOfAnEncoderDecoderLoseTheSameShare) {
  const ModelSpec full = shipped("t5_base");  // 12 + 12 layers, 12 heads of 64, 768 wide, 3072 between
  const KeptModel kept = kept_model(
      full, {{LayerGroup::Layers, 0.5}, {LayerGroup::Heads, 0.5}, {LayerGroup::FeedForward, 0.25}}, 64, {});
  const EncoderDecoderSpec& model = *kept.model.encoder_decoder;
  EXPECT_EQ(model.layers, 6);
  EXPECT_EQ(model.layers_of_decoder(), 6);
  EXPECT_EQ(model.heads, 6);
  EXPECT_EQ(model.head_size.value_or(model.hidden / model.heads), 64);
  EXPECT_EQ(model.hidden, 768);
  EXPECT_EQ(model.feed_forward, 768);
}

TEST(KeptModel, XlnetsHeadsGoWithTheirPartOfTheHiddenWidth) {
  const ModelSpec full = shipped("xlnet_large");  // 16 heads of 64
  const KeptModel kept = kept_model(
      full, {{LayerGroup::Layers, 0.5}, {LayerGroup::Heads, 0.5}, {LayerGroup::Hidden, 0.5}}, 64, {});
  EXPECT_EQ(kept.model.xlnet->heads, 8);
  EXPECT_EQ(kept.model.xlnet->hidden, 512);
  EXPECT_EQ(kept.model.xlnet->layers, 12);
  EXPECT_THROW((void)kept_model(full, {{LayerGroup::Heads, 0.5}}, 64, {}), FieldError);
  EXPECT_THROW((void)kept_model(full, {{LayerGroup::Experts, 0.5}}, 64, {}), FieldError);
}

TEST(KeptModel, TensorCoresWantLargerMultiples) {
  const ModelSpec gpt = shipped("gpt3_6b7");
  EXPECT_EQ(usual_multiple(gpt, Precision::BF16, {}), 64);
  EXPECT_EQ(usual_multiple(gpt, Precision::FP32, {}), 8);
  EXPECT_EQ(usual_multiple(shipped("resnet50"), Precision::FP16, {}), 8);
  EXPECT_EQ(usual_multiple(gpt, Precision::BF16, 1), 1);
}

}  // namespace
}  // namespace lockstep
