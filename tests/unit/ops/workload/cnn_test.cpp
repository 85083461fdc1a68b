// Convolutional networks as configurations describe them: sizes, parameters, arithmetic, what a step
// launches.

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "base/yaml_reader.hpp"
#include "ops/model_flops.hpp"
#include "ops/workload/cnn.hpp"
#include "ops/workload/cnn_layers.hpp"
#include "ops/workload/model_spec.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

CnnSpec network(const std::string& name) {
  return read_file<ModelSpec>(LOCKSTEP_SOURCE_DIR "/configs/models/" + name + ".yaml").cnn.value();
}

std::int64_t parameters(const CnnSpec& cnn) {
  const std::vector<std::int64_t> sizes = cnn_parameters(cnn);
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

/// Multiplications and additions of the convolutions of one image, forward, in 10^9.
double forward_gflops(const CnnSpec& cnn) {
  Flops sum{0};
  for (const ShapedBlock& block : cnn_layers(cnn, 1)) {
    for (const auto& branch : block.branches) {
      for (const ShapedLayer& layer : branch) {
        if (layer.layer.kind != CnnLayer::Kind::Convolution) continue;
        for (std::size_t filter = 0; filter < layer.layer.filters.size(); ++filter) {
          sum += model_flops({"", DataType::FP32, layer.convolution(filter, Convolution::Pass::Forward)});
        }
      }
    }
  }
  return sum / Flops{1e9};
}

// The published numbers of torchvision's models: 25,557,032, 44,549,160, 60,192,808 and (without auxiliary
// classifier: 27,161,264 less 3,326,696) 23,834,568 parameters. ResNet-50: 4.09 GMAC with the last layer's
// 0.002 (torchvision's table).
TEST(Cnn, torchvisions_models_have_their_published_sizes) {
  EXPECT_EQ(parameters(network("resnet50")), 25'557'032);
  EXPECT_EQ(parameters(network("resnet101")), 44'549'160);
  EXPECT_EQ(parameters(network("resnet152")), 60'192'808);
  EXPECT_EQ(parameters(network("inception_v3")), 23'834'568);
  EXPECT_NEAR(forward_gflops(network("resnet50")) / 2, 4.09, 0.01);
  EXPECT_NEAR(forward_gflops(network("inception_v3")) / 2, 5.71, 0.02);
}

TEST(Cnn, images_shrink_as_in_the_papers) {
  const std::vector<ShapedBlock> resnet = cnn_layers(network("resnet50"), 32);
  EXPECT_EQ(resnet.size(), 17U);  // the stem, and 3 + 4 + 6 + 3 residual blocks
  EXPECT_EQ(resnet.front().output, (ImageShape{32, 64, 56, 56}));
  EXPECT_EQ(resnet.back().output, (ImageShape{32, 2048, 7, 7}));
  const std::vector<ShapedBlock> inception = cnn_layers(network("inception_v3"), 1);
  std::vector<std::int64_t> channels, sizes;
  for (const ShapedBlock& block : inception) {
    channels.push_back(block.output.channels);
    sizes.push_back(block.output.height);
  }
  EXPECT_THAT(channels,
              ::testing::ElementsAre(192, 256, 288, 288, 768, 768, 768, 768, 768, 1280, 2048, 2048));
  EXPECT_THAT(sizes, ::testing::ElementsAre(35, 35, 35, 35, 17, 17, 17, 17, 17, 8, 8, 8));
}

std::string complaint(const std::string& blocks) {
  try {
    (void)read_text<ModelSpec>("name: n\nsource: s\ncnn: { image_size: 8, blocks: [" + blocks + "] }\n",
                               "net.yaml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// ResNet-50 has 161 parameters, each zeroed by a kernel. Timed by phase, a step waits after forward, backward
// and update, and zeroes nothing; it launches what else it did.
TEST(Cnn, phases_timed_one_by_one_end_with_waits_and_leave_out_zeroing) {
  const auto count = [](bool by_phase, const auto& counted) {
    CnnSpec cnn = network("resnet50");
    cnn.timed_by_phase = by_phase;
    const std::vector<VertexId> gpus{0};
    TrainingSetup setup;
    setup.global_batch = 4;
    setup.framework = {.zero_gradients = true, .optimizer = OptimizerStyle::PerTensor};
    setup.host = plain_host();
    setup.gpus = gpus;
    const Job job = cnn_job(cnn, setup);
    std::int64_t sum = 0;
    for (const Program::Thread& thread : job.programs.at(0)->threads) {
      sum += std::ranges::count_if(thread.instructions, counted);
    }
    return sum;
  };
  const auto waits = [](const Instruction& i) { return i.op == Opcode::WaitDevice; };
  const auto launches = [](const Instruction& i) { return i.op == Opcode::Launch; };
  EXPECT_EQ(count(false, waits), 0);
  EXPECT_EQ(count(true, waits), 3);
  EXPECT_EQ(count(false, launches) - count(true, launches), 161);
}

TEST(Cnn, layers_that_cannot_be_are_refused_where_they_stand) {
  using ::testing::HasSubstr;
  EXPECT_THAT(complaint("{branches: [[convv 8 3x3]]}"),
              ::testing::AllOf(HasSubstr("net.yaml:3:"), HasSubstr("'convv' is none of conv, max_pool")));
  EXPECT_THAT(complaint("{branches: [[conv 8 3]]}"), HasSubstr("'3' is no filter HEIGHTxWIDTH"));
  EXPECT_THAT(complaint("{branches: [[conv none 3x3]]}"),
              HasSubstr("'none' is no whole number of 1 to 1000000"));
  EXPECT_THAT(complaint("{branches: [[conv 8 3x3 sparse]]}"), HasSubstr("'sparse' is none of /STRIDE"));
  EXPECT_THAT(complaint("{branches: [[conv 8 9x9 valid]]}"),
              HasSubstr("leaves nothing of an image of 8 x 8"));
  EXPECT_THAT(complaint("{branches: [[conv 8 3x3], []], join: add}"), HasSubstr("branch 1 has 3 channels"));
  EXPECT_THAT(complaint("{branches: [[conv 8 3x3 /2], [conv 8 1x1]]}"),
              HasSubstr("branch 1 leaves images of 8 x 8"));
  EXPECT_EQ(complaint("{branches: [[conv 3 3x3], []], join: add}"), "");
}

Job resnet_job(Precision precision, bool channels_last = false, const OptimizerSpec& optimizer = {}) {
  CnnSpec spec = network("resnet50");
  spec.channels_last = channels_last;
  static const std::vector<VertexId> gpus{0, 1};
  TrainingSetup setup;
  setup.global_batch = 64;
  setup.precision = precision;
  setup.host = plain_host();
  setup.optimizer = optimizer;
  setup.gpus = gpus;
  return cnn_job(spec, setup);
}

std::vector<std::string> kernels_of_first(const Job& job, const std::string& name) {
  for (const ListedOperator& op : operators_of(job)) {
    if (op.name == name) return op.kernels;
  }
  return {};
}

/// ResNet-50 of 224 x 224: its 53 convolutions give 11.1 million elements, which their normalisations read;
/// ReLU's results behind 33 of them and behind 16 sums, the first pool's with its indices, and the image.
TEST(Cnn, keeps_what_backward_reads) {
  const double kept = resnet_job(Precision::FP32).memory[0][MemoryUse::Activations] / (64 / 2) / 4;
  constexpr double kConvolutions = 11113984,
                   kSums = 3 * 56 * 56 * 256 + 4 * 28 * 28 * 512 + 6 * 14 * 14 * 1024 + 3 * 7 * 7 * 2048;
  constexpr double kProjections = 56 * 56 * 256 + 28 * 28 * 512 + 14 * 14 * 1024 + 7 * 7 * 2048;
  constexpr double kPool = 3 * 56 * 56 * 64, kImage = 3 * 224 * 224, kMean = 2048;
  EXPECT_NEAR(kept, kConvolutions + (kConvolutions - kSums - kProjections) + kSums + kPool + kImage,
              2 * kMean);
}

/// The largest tensor, the stem's, has its gradient when all that is behind it is gone: the most is held
/// where backward begins.
TEST(Cnn, holds_most_where_backward_begins) {
  const Job job = resnet_job(Precision::FP32);
  constexpr double kImages = 64 / 2, kLast = 7 * 7 * 2048, kStem = 112 * 112 * 64;
  const double workspace = job.memory[0][MemoryUse::Workspace] / kImages / 4;
  EXPECT_DOUBLE_EQ(workspace, 3 * kLast);
  EXPECT_LT(workspace, kStem);
}

TEST(Cnn, autocast_casts_filters_and_halves_activations) {
  const Job wide = resnet_job(Precision::TF32), narrow = resnet_job(Precision::BF16);
  check(narrow);
  EXPECT_THAT(kernels_of_first(wide, "aten::conv2d"), ::testing::ElementsAre("conv2d_fprop"));
  EXPECT_THAT(kernels_of_first(narrow, "aten::conv2d"), ::testing::SizeIs(2));
  EXPECT_LT(narrow.memory[0][MemoryUse::Activations], 0.55 * wide.memory[0][MemoryUse::Activations]);
  EXPECT_EQ(narrow.memory[0][MemoryUse::Parameters], wide.memory[0][MemoryUse::Parameters]);
  EXPECT_EQ(kernels_of_first(narrow, "aten::_amp_update_scale_").size(), 0U);
  EXPECT_EQ(kernels_of_first(resnet_job(Precision::FP16), "aten::_amp_update_scale_").size(), 1U);
}

/// Bytes that an optimizer's kernels move for each parameter of ResNet-50, and those that it keeps.
struct Traffic {
  double moved, kept;
  bool operator==(const Traffic&) const = default;
};

Traffic traffic_of(const OptimizerSpec& optimizer) {
  const Job job = resnet_job(Precision::FP32, false, optimizer);
  double moved = 0;
  for (const Program::Thread& thread : job.programs[0]->threads) {
    for (const Instruction& i : thread.instructions) {
      const KernelWork* work = i.op == Opcode::Launch ? &job.programs[0]->kernels[i.operand].work : nullptr;
      const auto* update = work != nullptr ? std::get_if<OptimizerUpdate>(work) : nullptr;
      moved += update != nullptr
                   ? 4 * static_cast<double>(update->parameters) * (update->reads + update->writes)
                   : 0;
    }
  }
  const auto all = static_cast<double>(parameters(network("resnet50")));
  return {moved / all, job.memory[0][MemoryUse::Optimizer] / all};
}

// torch/optim/sgd.py: p += g; with momentum m *= a, m += g; with decay g + d p first, with Nesterov g + a m
// behind. An addition reads two tensors and writes one.
TEST(Cnn, each_option_of_sgd_is_another_pass) {
  const auto sgd = [](double momentum, bool nesterov, double decay) {
    return traffic_of(
        {.kind = Optimizer::Sgd, .momentum = momentum, .nesterov = nesterov, .weight_decay = decay});
  };
  EXPECT_EQ(sgd(0, false, 0), (Traffic{12, 0}));
  EXPECT_EQ(sgd(0, false, 1e-4), (Traffic{12 + 12, 0}));
  EXPECT_EQ(sgd(0.9, false, 0), (Traffic{12 + 8 + 12, 4}));
  EXPECT_EQ(sgd(0.9, true, 1e-4), (Traffic{12 + 12 + 8 + 12 + 12, 4}));
  EXPECT_EQ(traffic_of({.kind = Optimizer::AdamW}).kept, 8);
}

/// Bytes of each broadcast, and the copies behind them, of a step on two GPUs.
struct Broadcasts {
  std::vector<double> sizes;
  std::int64_t copies = 0;
};

Broadcasts broadcasts_of(const FrameworkSpec& framework, std::size_t ranks) {
  const std::vector<VertexId> gpus{0, 1};
  TrainingSetup setup;
  setup.global_batch = 64;
  setup.framework = framework;
  setup.host = plain_host();
  setup.gpus = std::span{gpus}.first(ranks);
  const Job job = cnn_job(network("resnet50"), setup);
  Broadcasts found;
  for (const CollectiveCall& call : job.programs.at(0)->collectives) {
    if (call.kind == CollectiveKind::Broadcast) found.sizes.push_back(call.size / Bytes{1});
  }
  for (const ListedOperator& op : operators_of(job)) {
    if (op.name == "aten::unflatten_dense_tensors") found.copies += std::ssize(op.kernels);
  }
  return found;
}

// ../shared/data/traces/pytorch_et/resnet_2gpu_et_1.1.0.json.gz: c10d::broadcast_ of 53,120 floats (106
// averages) and of 53 counts of batches, then a copy into each.
TEST(Cnn, buffers_of_rank_0_go_to_all_before_forward) {
  const Broadcasts two = broadcasts_of({}, 2);
  EXPECT_THAT(two.sizes, ::testing::ElementsAre(53120 * 4, 53 * 8));
  EXPECT_EQ(two.copies, 106 + 53);
  EXPECT_THAT(broadcasts_of({}, 1).sizes, ::testing::IsEmpty());
  EXPECT_THAT(broadcasts_of({.broadcast_buffers = false}, 2).sizes, ::testing::IsEmpty());
  EXPECT_THAT(broadcasts_of({.apex = true}, 2).sizes, ::testing::IsEmpty());
}

TEST(Cnn, all_convolutions_are_timed_or_none) {
  for (const bool tuned : {false, true}) {
    CnnSpec cnn{.image_size = 32,
                .cudnn_benchmark = tuned,
                .blocks = {{.branches = {{"conv 8 3x3", "conv 8 1x1"}, {"conv 8 1x1"}}}}};
    int convolutions = 0;
    for (const ShapedBlock& block : cnn_layers(cnn, 2)) {
      for (const std::vector<ShapedLayer>& branch : block.branches) {
        for (const ShapedLayer& layer : branch) {
          EXPECT_EQ(layer.convolution(0, Convolution::Pass::Forward).tuned, tuned);
          ++convolutions;
        }
      }
    }
    EXPECT_EQ(convolutions, 3);
  }
}

TEST(Cnn, layout_is_that_of_its_convolutions) {
  for (const bool channels_last : {false, true}) {
    const Job job = resnet_job(Precision::TF32, channels_last);
    int convolutions = 0;
    for (const KernelCall& call : job.programs.front()->kernels) {
      if (const auto* convolution = std::get_if<Convolution>(&call.work)) {
        EXPECT_NE(convolution->channels_first, channels_last);
        ++convolutions;
      }
    }
    EXPECT_GT(convolutions, 0);
  }
}

}  // namespace
}  // namespace lockstep
