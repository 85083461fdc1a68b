#include "ops/model_flops.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kForwardProducts = 2;   // S = Q K^T, O = P V
constexpr double kBackwardProducts = 4;  // dV, dP, dQ, dK

Flops flops_of(const Gemm& gemm) {
  return Flops{2.0 * static_cast<double>(gemm.batch) * static_cast<double>(gemm.m) *
               static_cast<double>(gemm.n) * static_cast<double>(gemm.k)};
}

Flops flops_of(const FlashAttention& attention) {
  const double product = 2.0 * static_cast<double>(attention.batch * attention.heads) *
                         static_cast<double>(attention.queries) * static_cast<double>(attention.keys) *
                         static_cast<double>(attention.head_size) * (attention.causal ? 0.5 : 1.0);
  return Flops{product * (attention.direction == Direction::Forward ? kForwardProducts : kBackwardProducts)};
}

Flops flops_of(const Convolution& of) {
  return Flops{2.0 * static_cast<double>(of.batch * of.in_channels * of.out_channels) *
               static_cast<double>(of.out_height() * of.out_width()) *
               static_cast<double>(of.filter_height * of.filter_width)};
}

Seconds at_peak(const KernelCall& call, const GpuSpec& gpu) {
  const Flops flops = model_flops(call);
  return flops > Flops{0} ? flops / peak_of(gpu, call.type) : Seconds{0};
}

/// A Program's launches: the sum over those that all its ranks do, and the slots in which they differ.
struct LaunchSum {
  double shared = 0;
  std::vector<std::uint32_t> slots;  ///< one entry a launch
};

/// Follows a thread's ranges: is what comes now computed for the second time?
class Recomputation {
 public:
  explicit Recomputation(const Program& program)
      : name_{std::ranges::find(program.names, kRecomputeRange) - program.names.begin()} {}

  void read(const Instruction& instruction) {
    if (instruction.op == Opcode::RangeBegin) {
      depth_ += depth_ > 0 || instruction.operand == name_ ? 1 : 0;
    } else if (instruction.op == Opcode::RangeEnd && depth_ > 0) {
      --depth_;
    }
  }
  [[nodiscard]] bool goes_on() const { return depth_ > 0; }

 private:
  std::ptrdiff_t name_;  ///< of recomputations
  int depth_ = 0;        ///< of ranges, from the outermost recomputation on
};

/// @param of_kernel what a launch of each of the program's kernels counts
LaunchSum sum_of_launches(const Program& program, std::span<const double> of_kernel) {
  LaunchSum sum;
  for (const Program::Thread& thread : program.threads) {
    Recomputation recomputation{program};
    for (const Instruction& instruction : thread.instructions) {
      recomputation.read(instruction);
      if (instruction.op != Opcode::Launch || recomputation.goes_on()) {
        continue;
      }
      if (instruction.per_rank) {
        sum.slots.push_back(instruction.operand);
      } else {
        sum.shared += of_kernel[instruction.operand];
      }
    }
  }
  return sum;
}

/// Sum over all ranks; @p value_of a kernel on a GPU model.
template <class ValueOf>
double sum_over_ranks(const Job& job, std::span<const std::uint32_t> gpu_of_rank, ValueOf value_of) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, LaunchSum> known;
  double sum = 0;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const RankAssignment& assignment = job.ranks[rank];
    const Program& program = *job.programs[assignment.program];
    const std::uint32_t gpu = gpu_of_rank.empty() ? 0 : gpu_of_rank[rank];
    const auto [entry, is_new] = known.try_emplace({assignment.program, gpu});
    if (is_new) {
      std::vector<double> of_kernel;
      for (const KernelCall& call : program.kernels) {
        of_kernel.push_back(value_of(call, gpu));
      }
      entry->second = sum_of_launches(program, of_kernel);
    }
    sum += entry->second.shared;
    for (const std::uint32_t slot : entry->second.slots) {
      sum += value_of(program.kernels[assignment.kernel_slots[slot]], gpu);
    }
  }
  return sum;
}

}  // namespace

Flops model_flops(const KernelCall& call) {
  if (const auto* gemm = std::get_if<Gemm>(&call.work)) {
    return flops_of(*gemm);
  }
  if (const auto* attention = std::get_if<FlashAttention>(&call.work)) {
    return flops_of(*attention);
  }
  if (const auto* convolution = std::get_if<Convolution>(&call.work)) {
    return flops_of(*convolution);
  }
  return Flops{0};
}

Flops model_flops(const Job& job) {
  return Flops{sum_over_ranks(job, {}, [](const KernelCall& call, std::uint32_t /*gpu*/) {
    return model_flops(call).in_base_units();
  })};
}

Seconds time_at_peak(const Job& job, std::span<const GpuSpec> gpus,
                     std::span<const std::uint32_t> gpu_of_rank) {
  const double sum = sum_over_ranks(job, gpu_of_rank, [&](const KernelCall& call, std::uint32_t gpu) {
    return at_peak(call, gpus[gpu]).in_base_units();
  });
  return Seconds{sum / static_cast<double>(job.ranks.size())};
}

}  // namespace lockstep
