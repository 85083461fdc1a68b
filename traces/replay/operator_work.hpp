#pragma once

/// @file
/// What an operator's kernels do, in the words of the kernel models: read off its name, the shapes it was
/// called with and the names of the kernels. What is not certain is left out.

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "traces/replay/operator_arguments.hpp"

namespace lockstep::replay {

struct LaunchedKernel {
  std::uint32_t work = 0;  ///< index into RecordedTrace::work
  std::string name;
  double seconds = 0;  ///< recorded
};

/// An operator and what it launched itself, in order, without copies and memsets.
struct OperatorLaunches {
  OperatorArguments called;
  OperatorArguments caller;      ///< the operator around it; no name: none
  OperatorArguments other_pass;  ///< of a lookup its backward pass, and the other way round; no name: none
  std::vector<LaunchedKernel> kernels;
  std::span<const EmbeddingTable> tables{};  ///< of the job, where somebody names them
};

/// Output shapes of convolutions, by the shapes of input and filters: read off their backward pass, where
/// traces do not say strides. Empty: two that differ were seen.
using ConvolutionOutputs = std::map<std::pair<Dims, Dims>, Dims>;

/// Takes what @p op says of a convolution's output, if it is a backward pass.
void note_output(const OperatorArguments& op, ConvolutionOutputs& outputs);

/// Kernels that together do one thing.
struct ModelledWork {
  std::string family;               ///< `convolution forward`
  std::vector<KernelCall> calls;    ///< whose times add up
  std::vector<std::uint32_t> work;  ///< index into RecordedTrace::work
};

/// Kernels of @p op that none of the answers has are not known to the models.
[[nodiscard]] std::vector<ModelledWork> modelled_work(const OperatorLaunches& op,
                                                      const ConvolutionOutputs& outputs);

}  // namespace lockstep::replay
