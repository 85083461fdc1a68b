#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/workload/encoder_decoder_memory.hpp"
#include "ops/workload/encoder_decoder_spec.hpp"
#include "ops/workload/hugging_face_step.hpp"
#include "ops/workload/layers/cross_entropy.hpp"

namespace lockstep {

/// T5 and Switch Transformers.
class EncoderDecoderStep final : public HuggingFaceStep {
 public:
  EncoderDecoderStep(StepWriter& step, const EncoderDecoderSpec& spec, const TrainingSetup& setup);

 private:
  void copy_inputs() override;
  void forward() override;
  void loss_forward() override;
  void loss_and_model_backward(GradientSink& gradients) override;
  [[nodiscard]] std::vector<ModuleBuffers> buffers() const override { return {}; }
  [[nodiscard]] bool is_matrix(std::int64_t elements) const override { return spec_.is_matrix(elements); }
  [[nodiscard]] bool reads_loss() const override { return spec_.loss_readback; }

  void shift_labels();
  void embed(const T5StackShape& stack);
  void stack_forward(const T5StackShape& stack, std::string_view name);
  void stack_backward(const T5StackShape& stack, std::string_view name, GradientSink& gradients);
  void head_forward();
  void head_backward(GradientSink& gradients);
  void router_losses(bool backward);
  void free_caches();
  [[nodiscard]] std::int64_t table() const { return spec_.vocabulary * spec_.hidden; }

  const EncoderDecoderSpec& spec_;
  T5StackShape encoder_, decoder_;
  CrossEntropyShape loss_;
  EncoderDecoderMemory memory_;
};

}  // namespace lockstep
