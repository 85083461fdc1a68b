#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/hugging_face_step.hpp"
#include "ops/workload/layers/cross_entropy.hpp"
#include "ops/workload/layers/linear.hpp"
#include "ops/workload/xlnet_memory.hpp"
#include "ops/workload/xlnet_spec.hpp"

namespace lockstep {

/// XLNetLMHeadModel. In every pass the host encodes distances, and copies them for each sample from memory
/// that is not pinned: it waits until the GPU has them.
///
/// *Assumes* that the encoding itself (sines and cosines of sequence x hidden numbers, and their copies for
/// each sample side by side) takes the host no time but that of the operators. *Source*: transformers v4.26,
/// models/xlnet/modeling_xlnet.py, XLNetModel.forward() and relative_positional_encoding().
class XlnetStep final : public HuggingFaceStep {
 public:
  XlnetStep(StepWriter& step, const XlnetSpec& spec, const TrainingSetup& setup);

 private:
  void copy_inputs() override;
  void forward() override;
  void loss_forward() override;
  void loss_and_model_backward(GradientSink& gradients) override;
  [[nodiscard]] std::vector<ModuleBuffers> buffers() const override { return {}; }
  [[nodiscard]] bool is_matrix(std::int64_t elements) const override { return spec_.is_matrix(elements); }
  [[nodiscard]] bool reads_loss() const override { return spec_.loss_readback; }

  void embeddings_forward();
  void mask_forward();
  void segments_forward();
  void distances_forward();
  void distances_on_device();
  void head_forward();
  void head_backward(GradientSink& gradients);
  void free_caches();
  [[nodiscard]] LinearShape output() const;
  [[nodiscard]] std::int64_t table() const { return spec_.vocabulary * spec_.hidden; }

  const XlnetSpec& spec_;
  XlnetLayerShape layer_;
  CrossEntropyShape loss_;
  XlnetMemory memory_;
};

}  // namespace lockstep
