#include "ops/workload/cnn.hpp"

#include <fmt/format.h>

#include <iterator>
#include <stdexcept>
#include <utility>

#include "ops/workload/batch_loader.hpp"
#include "ops/workload/cnn_layers.hpp"
#include "ops/workload/cnn_memory.hpp"
#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/convolution.hpp"
#include "ops/workload/layers/cross_entropy.hpp"
#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/linear.hpp"
#include "ops/workload/loss_scaling.hpp"
#include "ops/workload/module_buffers.hpp"
#include "ops/workload/optimizer_step.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {
namespace {

void check_setup(const TrainingSetup& setup) {
  const auto ranks = static_cast<std::int64_t>(setup.gpus.size());
  if (setup.global_batch < ranks || setup.global_batch % ranks != 0) {
    throw std::invalid_argument{
        fmt::format("global_batch {} cannot be divided evenly among {} GPUs", setup.global_batch, ranks)};
  }
  if (setup.precision == Precision::FP8) {
    throw std::invalid_argument{"a convolutional network is trained in fp32, tf32, fp16 or bf16"};
  }
}

/// Writes one step of one network.
class CnnStep {
 public:
  CnnStep(StepWriter& step, const CnnSpec& spec, const TrainingSetup& setup, std::vector<ShapedBlock> blocks)
      : step_{step},
        spec_{spec},
        setup_{setup},
        type_{storage_type(setup.precision)},
        blocks_{std::move(blocks)},
        parameters_{cnn_parameters(spec, setup.frozen)},
        lowest_{
            setup.frozen.lowest_reached(ModelPart::Blocks, static_cast<std::int64_t>(blocks_.size()), false)},
        features_{blocks_.back().output},
        head_{.rows = features_.batch, .in = features_.channels, .out = spec.classes},
        loss_{.batch = features_.batch, .sequence = 1, .classes = spec.classes, .shifted = false},
        loader_{step, setup, features_.batch} {}

  void write() {
    loader_.begin_step(1);
    loader_.next();
    if (!spec_.input_on_device) {
      const auto images = static_cast<double>(blocks_.front().input.elements());
      loader_.copy(images * size_of(DataType::FP32), BatchLoader::Copy::Blocking);
    }
    if (!spec_.timed_by_phase) {
      zero();
    }
    forward();
    end_of_phase();
    {
      const ModuleRange phase{step_, "loss"};
      cross_entropy_forward(step_, loss_);
      if (scales_loss()) {
        scale_loss_forward(step_);
      }
    }
    backward();
    end_of_phase();
    {
      const ModuleRange phase{step_, "optimizer"};
      if (scales_loss()) {
        unscale_gradients(step_, parameters_);
      }
      optimizer_step(step_, setup_.optimizer, parameters_);
      if (scales_loss()) {
        update_scale(step_);
      }
    }
    end_of_phase();
  }

 private:
  [[nodiscard]] bool scales_loss() const { return setup_.precision == Precision::FP16; }

  void end_of_phase() {
    if (spec_.timed_by_phase) {
      step_.program().wait_device();
    }
  }

  void zero() {
    const ModuleRange phase{step_, "zero_grad"};
    zero_gradients(step_, setup_.optimizer.kind, parameters_);
  }

  void forward() {
    const ModuleRange phase{step_, "forward"};
    broadcast_buffers(step_, cnn_buffers(blocks_));
    if (step_.types().casts()) {
      step_.op("aten::to", {kernels::cast(step_, blocks_.front().input.elements(), DataType::FP32, type_)});
    }
    for (const ShapedBlock& block : blocks_) block_forward(block);
    step_.op(
        "aten::adaptive_avg_pool2d",
        {kernels::reduce(
            "mean", {.rows = features_.batch * features_.channels, .columns = features_.pixels()}, type_)});
    step_.op("aten::flatten");
    if (spec_.dropout > 0) {
      dropout_forward(step_, features_.batch * features_.channels, type_);
    }
    linear_forward(step_, head_);
  }

  void block_forward(const ShapedBlock& block) {
    const ModuleRange module{step_, "block"};
    for (const std::vector<ShapedLayer>& branch : block.branches) {
      for (const ShapedLayer& layer : branch) cnn_layer_forward(step_, layer);
    }
    const auto branches = static_cast<std::int64_t>(block.branches.size());
    const std::int64_t elements = block.output.elements();
    if (block.join == Join::Add) {
      for (std::int64_t i = 1; i < branches; ++i) step_.op("aten::add_", {kernels::add(elements, type_)});
      step_.op("aten::relu_", {kernels::elementwise("clamp_min", elements, type_, {})});
    } else if (branches > 1) {
      step_.op("aten::cat", {kernels::concat(elements, branches, type_)});
    }
  }

  void backward() {
    const ModuleRange phase{step_, "backward"};
    step_.op("aten::ones_like", {kernels::fill(1, DataType::FP32)});
    GradientBuckets buckets{step_, setup_.parallelism.buckets(), parameters_.size()};
    GradientSink gradients{step_, &buckets, step_.framework().zero_gradients};
    step_.on_autograd_thread([&] {
      const ModuleRange range{step_, "backward"};
      if (scales_loss()) {
        scale_loss_backward(step_);
      }
      cross_entropy_backward(step_, loss_);
      const auto count = static_cast<std::int64_t>(blocks_.size());
      gradients.train(!setup_.frozen.has(ModelPart::Head));
      linear_backward(step_, head_, gradients, lowest_ < count);
      if (lowest_ < count) {
        blocks_backward(gradients);
      }
      buckets.finish();
    });
  }

  void blocks_backward(GradientSink& gradients) {
    if (spec_.dropout > 0) {
      dropout_backward(step_, features_.batch * features_.channels, type_);
    }
    step_.op("MeanBackward1", {kernels::elementwise("div", features_.elements(), type_, {})});
    for (auto block = static_cast<std::int64_t>(blocks_.size()); block-- > lowest_;) {
      gradients.train(!setup_.frozen.has(ModelPart::Blocks, block));
      block_backward(blocks_[static_cast<std::size_t>(block)], gradients, block > lowest_);
    }
  }

  /// @param input_gradient whether anything before the block learns
  void block_backward(const ShapedBlock& block, GradientSink& gradients, bool input_gradient) {
    if (block.join == Join::Add) {
      relu_backward(step_, block.output.elements());
      step_.op("AddBackward0");
    } else if (block.branches.size() > 1) {
      step_.op("CatBackward0");  // views
    }
    bool first = true;
    for (auto branch = block.branches.rbegin(); branch != block.branches.rend(); ++branch) {
      for (std::size_t layer = branch->size(); layer-- > 0;) {
        cnn_layer_backward(step_, (*branch)[layer], gradients, layer > 0 || input_gradient);
      }
      if (!first && input_gradient) {  // gradients of the block's input from several branches
        step_.op("aten::add", {kernels::add(block.input.elements(), type_)});
      }
      first = false;
    }
  }

  StepWriter& step_;
  const CnnSpec& spec_;
  const TrainingSetup& setup_;
  DataType type_;  // of activations
  std::vector<ShapedBlock> blocks_;
  std::vector<std::int64_t> parameters_;  // trained ones
  std::int64_t lowest_;                   // block that backward comes to last; as many as blocks: none
  ImageShape features_;
  LinearShape head_;
  CrossEntropyShape loss_;
  BatchLoader loader_;
};

}  // namespace

Job cnn_job(const CnnSpec& spec, const TrainingSetup& setup) {
  check_setup(setup);
  const std::vector<ShapedBlock> blocks =
      cnn_layers(spec, setup.global_batch / static_cast<std::int64_t>(setup.gpus.size()));
  StepWriter step{setup.host, setup.gpus.size(), setup.framework, setup.precision};
  CnnStep{step, spec, setup, blocks}.write();
  Job job = std::move(step).finish(setup.gpus);
  job.memory = {cnn_memory(spec, blocks, setup)};
  for (auto& rank : job.ranks) rank.memory = 0;
  return job;
}

}  // namespace lockstep
