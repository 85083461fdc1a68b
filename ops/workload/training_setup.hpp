#pragma once

#include <cstdint>
#include <span>

#include "ops/host_overhead.hpp"
#include "ops/workload/framework_spec.hpp"
#include "ops/workload/frozen_parts.hpp"
#include "ops/workload/loader_spec.hpp"
#include "ops/workload/optimizer_spec.hpp"
#include "ops/workload/parallelism_spec.hpp"
#include "ops/workload/phases.hpp"
#include "ops/workload/precision.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// Settings that a training step of any model needs besides the model.
struct TrainingSetup {
  std::int64_t global_batch = 0;
  Precision precision = Precision::FP32;
  MixedPrecision mixed_precision = MixedPrecision::Autocast;  ///< Hugging Face's transformers only
  FrameworkSpec framework;
  ParallelismSpec parallelism;
  HostOverheads host;
  LoaderSpec loader;
  int gradient_accumulation = 1;  ///< micro-batches per step
  bool clip_gradients = false;
  OptimizerSpec optimizer;            ///< convolutional networks and Hugging Face's transformers only
  Phases phases = Phases::Step;       ///< other than Step: transformers only; Forward: Hugging Face's
  FrozenParts frozen{};               ///< of DLRMs, transformers and convolutional networks
  std::span<const VertexId> gpus;     ///< one rank each
  std::span<const Bytes> gpu_memory;  ///< of each
  std::span<const int> gpu_nodes{};   ///< node of each; left out: all in one
  /// DRAM bandwidth of each one's host by the ranks there; 0: not known. For plans with `offload`.
  std::span<const BytesPerSecond> host_bandwidth{};
};

}  // namespace lockstep
