#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "base/units.hpp"
#include "ops/gpu/peak_throughput.hpp"

namespace lockstep {

/// Kinds of kernels that a network predicts.
enum class LearnedFamily : std::uint8_t {
  Gemm,
  BatchedGemm,
  Softmax,    ///< forward
  LayerNorm,  ///< forward
  Pointwise,
  EmbeddingForward,
  EmbeddingBackward,
};

constexpr auto names_of(LearnedFamily) {
  return std::to_array<EnumName<LearnedFamily>>({{LearnedFamily::Gemm, "gemm"},
                                                 {LearnedFamily::BatchedGemm, "batched_gemm"},
                                                 {LearnedFamily::Softmax, "softmax"},
                                                 {LearnedFamily::LayerNorm, "layer_norm"},
                                                 {LearnedFamily::Pointwise, "pointwise"},
                                                 {LearnedFamily::EmbeddingForward, "embedding_forward"},
                                                 {LearnedFamily::EmbeddingBackward, "embedding_backward"}});
}

/// One number that a network sees of a call, and where it lay in the calls that the network was trained on.
struct LearnedFeature {
  std::string name;  ///< of ops/kernels/kernel_features.hpp
  double least = 0;
  double most = 0;

  bool operator==(const LearnedFeature&) const = default;

  template <class Visitor>
  static void describe(Visitor& key, LearnedFeature& feature) {
    key.required("name", feature.name, "what the network sees, e.g. log_depth");
    key.required("least", feature.least, "in the calls that the network was trained on");
    key.required("most", feature.most, "likewise");
  }
  /// @throws FieldError for an empty range
  void check() const;
};

/// outputs = weights * inputs + biases; tanh of it where another layer follows.
struct LearnedLayer {
  int inputs = 1;
  int outputs = 1;
  std::string numbers;         ///< as written: weights row by row, then the biases
  std::vector<double> values;  ///< the same, read

  template <class Visitor>
  static void describe(Visitor& key, LearnedLayer& layer) {
    key.required("inputs", layer.inputs, "numbers that go in");
    key.required("outputs", layer.outputs, "numbers that come out");
    key.required("numbers", layer.numbers, "outputs x inputs weights row by row, then outputs biases");
  }
  /// Reads `numbers`. @throws FieldError for a wrong count or what is no finite number
  void check();
};

/// A small network for one kind of kernel of one GPU model: ln(time / bound) from numbers about the call
/// (ops/kernels/learned.hpp has the equation). With `elements` a set network: the trunk sees each element of
/// the call (each embedding table) alone, and the head sees the sum of its outputs beside the call's own
/// features.
struct LearnedKernel {
  LearnedFamily family = LearnedFamily::Gemm;
  std::string type;    ///< of the operands
  std::string layout;  ///< of matrix products: nn, nt, tn or tt; else empty
  std::string source;
  double band = 0;
  double error = 0;
  double formula_error = 0;
  std::vector<LearnedFeature> features;
  std::vector<LearnedFeature> elements;
  std::vector<LearnedLayer> trunk;
  std::vector<LearnedLayer> head;

  template <class Visitor>
  static void describe(Visitor& key, LearnedKernel& kernel) {
    key.required("family", kernel.family, "what the network answers for");
    key.required("type", kernel.type, "of the operands: fp32, tf32, fp16, bf16 or fp8");
    key.optional("layout", kernel.layout, "", "of matrix products: nn, nt, tn or tt");
    key.required("source", kernel.source, "the measurements, and which of them were held out");
    key.required("band", kernel.band, "relative error that 9 of 10 held-out rows stay within");
    key.required("error", kernel.error, "mean relative error on the held-out rows");
    key.required("formula_error", kernel.formula_error, "that of the formula on the same rows");
    key.required("features", kernel.features, "what the network sees of the call");
    key.optional("elements", kernel.elements, {}, "what it sees of each element (embedding table)");
    key.optional("trunk", kernel.trunk, {}, "layers for each element; their outputs are summed");
    key.required("head", kernel.head, "layers for the call's features and the sums");
  }
  /// @throws FieldError for layers that do not fit each other, or an unknown type or layout
  void check() const;
};

/// The numbers of a GPU that networks work with, as they were in its file when they were fitted: what they
/// say is a multiple of the bound that follows from them (ops/kernels/kernel_features.hpp).
struct LearnedScale {
  int sm_count = 0;
  PeakThroughput peak;
  BytesPerSecond memory_bandwidth;
  Bytes l2_size;
  Seconds kernel_minimum{};

  template <class Visitor>
  static void describe(Visitor& key, LearnedScale& scale) {
    key.required("sm_count", scale.sm_count, "streaming multiprocessors");
    key.required("peak", scale.peak, "dense peaks by data type");
    key.required("memory_bandwidth", scale.memory_bandwidth, "data-sheet DRAM bandwidth, e.g. 2039 GB/s");
    key.required("l2", scale.l2_size, "level-2 cache, e.g. 40 MiB");
    key.required("kernel_minimum", scale.kernel_minimum, "duration of an almost empty kernel, e.g. 2 us");
  }
};

/// The networks of one GPU model.
struct LearnedKernels {
  static constexpr const char* kConfigKind = "learned_kernels";

  std::string name;
  std::string source;
  std::vector<std::string> gpus;
  std::map<std::string, LearnedScale> scale;  ///< by GPU; one that is not in it is taken as its file has it
  std::vector<LearnedKernel> kernels;

  /// The network for a kind of kernel; nullptr where there is none.
  [[nodiscard]] const LearnedKernel* find(LearnedFamily family, const std::string& type,
                                          const std::string& layout) const;
  /// Whether @p gpu is among those measured.
  [[nodiscard]] bool measured_on(const std::string& gpu) const;

  template <class Visitor>
  static void describe(Visitor& key, LearnedKernels& learned) {
    key.required("name", learned.name, "name of the set");
    key.required("source", learned.source, "how it was made");
    key.required("gpus", learned.gpus, "GPUs that were measured; on others the formulas answer");
    key.optional(
        "scale", learned.scale, {},
        "by GPU, its numbers at the fit, which all times are multiples of: where its file has others "
        "now, the formulas answer");
    key.required("kernels", learned.kernels, "a network for each kind of kernel");
  }
  /// @throws FieldError for two networks of one kind, a scale of a GPU that is not among `gpus`
  void check() const;
};

}  // namespace lockstep
