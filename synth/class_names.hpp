#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/kernel.hpp"
#include "ops/program.hpp"

namespace lockstep::synth {

/// Class of a kernel: of its shape's kind where it has one, else of the family that its name is of
/// (traces/kernels/kernel_families.hpp). A word of ours, never a text of a trace.
[[nodiscard]] std::string class_of(const KernelCall& call);

/// Class of a named span of a host: step, forward, backward, optimizer, input, recompute, operator, range.
[[nodiscard]] std::string class_of_range(std::string_view name);

/// Names of a Program's threads, streams and groups, told by what they do alone: main, autograd, thread2;
/// compute, communication1, copy2; group1.
struct RoleNames {
  std::vector<std::string> threads, streams, groups;
};
[[nodiscard]] RoleNames role_names(const Program& program);

}  // namespace lockstep::synth
