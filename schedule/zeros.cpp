#include "schedule/zeros.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "ops/kernels/gemm.hpp"
#include "ops/kernels/timed.hpp"
#include "ops/model_flops.hpp"
#include "schedule/transition_work.hpp"

namespace lockstep {
namespace {

constexpr double kMaskShare = 0.25;       // of an FP32 weight
constexpr double kCompressed = 9.0 / 16;  // of 16-bit weights: half the values, 2 bits of place for each
constexpr double kMaskBit = 1.0 / 16;     // of a 16-bit weight
constexpr double kSixteenBits = 2;
constexpr std::int64_t kSparseTile = 16;  // rows and columns of a sparse matrix are multiples of it
constexpr const char* kBackwardRange = "backward";

Instruction launch_of(std::size_t kernel, const HostOverheads& host) {
  Instruction launch;
  launch.op = Opcode::Launch;
  launch.operand = static_cast<std::uint32_t>(kernel);
  launch.cost = static_cast<float>(host.duration_of(RuntimeCall::LaunchKernel).in_base_units());
  return launch;
}

void launch_at_end(Program& program, const KernelCall& kernel, const HostOverheads& host) {
  program.threads.front().instructions.push_back(launch_of(program.kernels.size(), host));
  program.kernels.push_back(kernel);
}

/// A product of a linear layer with its weight as B: neither of a batch nor of gradients by tokens.
bool multiplies_weight(const KernelCall& call) {
  const auto* const gemm = std::get_if<Gemm>(&call.work);
  return gemm != nullptr && gemm->batch == 1 && !gemm->transpose_a && !gemm->grouped && gemm->m > 1 &&
         gemm->n % kSparseTile == 0 && gemm->k % kSparseTile == 0 &&
         (call.type == DataType::FP16 || call.type == DataType::BF16);
}

/// Follows the ranges of a thread: whether it is in backward, and not in what is recomputed there.
class Place {
 public:
  explicit Place(const Program& program) : program_{program} {}

  void read(const Instruction& instruction) {
    if (instruction.op == Opcode::RangeBegin) {
      open_.push_back(program_.names[instruction.operand]);
    } else if (instruction.op == Opcode::RangeEnd && !open_.empty()) {
      open_.pop_back();
    }
  }
  [[nodiscard]] bool is_backward() const {
    return std::ranges::find(open_, kBackwardRange) != open_.end() &&
           std::ranges::find(open_, kRecomputeRange) == open_.end();
  }

 private:
  const Program& program_;
  std::vector<std::string> open_;
};

/// Time of a product whose B is 2:4 sparse: half of k at the dense rate, A and C moved whole, B compressed.
Seconds time_of_sparse(const Gemm& gemm, const GpuSpec& gpu, DataType type) {
  Gemm half = gemm;
  half.k = gemm.k / 2;
  const auto m = static_cast<double>(gemm.m), n = static_cast<double>(gemm.n),
             k = static_cast<double>(gemm.k);
  return time_of_product(half, gpu.efficiency->tensor, gpu, type,
                         size_of(type) * (m * k + kCompressed * n * k + m * n));
}

/// Replaces launches of dense products; returns how many.
std::size_t make_sparse(Program& program, const GpuSpec& gpu, bool backward) {
  std::map<std::uint32_t, std::uint32_t> sparse;  // by dense kernel
  std::size_t replaced = 0;
  for (Program::Thread& thread : program.threads) {
    Place place{program};
    for (Instruction& instruction : thread.instructions) {
      place.read(instruction);
      if (instruction.op != Opcode::Launch || instruction.per_rank ||
          !multiplies_weight(program.kernels[instruction.operand]) || (!backward && place.is_backward())) {
        continue;
      }
      const auto [known, fresh] =
          sparse.try_emplace(instruction.operand, static_cast<std::uint32_t>(program.kernels.size()));
      if (fresh) {
        const KernelCall call = program.kernels[instruction.operand];
        program.kernels.push_back({"sparse " + call.name + std::string{kGuessedMark}, call.type,
                                   Timed{time_of_sparse(std::get<Gemm>(call.work), gpu, call.type)}});
      }
      instruction.operand = known->second;
      ++replaced;
    }
  }
  return replaced;
}

/// Sparse tensor cores came with BF16, in Ampere (NVIDIA A100 Tensor Core GPU Architecture whitepaper).
void expect_sparse_cores(const ResolvedScenario& resolved, const SourceLocation& at) {
  const Precision precision = resolved.scenario.workload->precision;
  if (precision != Precision::FP16 && precision != Precision::BF16) {
    throw InputError{at, fmt::format("sparsity: 2:4 products are written of fp16 and bf16, not of {}: set "
                                     "workload.precision, or the phase's",
                                     name_of(precision))};
  }
  const GpuSpec& gpu = resolved.gpu_models.front();
  if (!(gpu.peak.bf16 > FlopsPerSecond{0})) {
    throw InputError{at, fmt::format("sparsity: {} has no sparse tensor cores, which GPUs have since Ampere "
                                     "(e.g. a100_40gb): 2:4 saves no time on it",
                                     gpu.name)};
  }
  if (resolved.gpu_models.size() > 1) {
    throw InputError{at, "sparsity: sparse products are timed for one model of GPU: the ranks have several"};
  }
}

/// Bytes of 2:4 copies of the weights beyond what the dense training keeps.
double compressed_bytes(const WorkloadSpec& workload, const ParallelismSpec& parallelism, double elements,
                        int directions) {
  const bool dense_goes = directions == 2 && element_bytes(workload, parallelism).weight == kSixteenBits;
  return kSixteenBits * elements * (directions * kCompressed - (dense_goes ? 1 : 0));
}

}  // namespace

Flops flops_with_zeros(const Job& dense, const Job& sparse) {
  return (model_flops(dense) + model_flops(sparse)) / 2;
}

Job masked(Job job, const HostOverheads& host, double elements) {
  const KernelCall pass{"mask weights", DataType::FP32,
                        Pointwise{.elements = std::llround(elements), .reads = 1 + kMaskShare, .writes = 1}};
  for (std::shared_ptr<const Program>& program : job.programs) {
    auto longer = std::make_shared<Program>(*program);
    launch_at_end(*longer, pass, host);
    program = std::move(longer);
  }
  return job;
}

Job sparse(const ResolvedScenario& resolved, const SparsitySpec& sparsity, double elements,
           const SourceLocation& at) {
  expect_sparse_cores(resolved, at);
  const int directions = sparsity.backward ? 2 : 1;
  const DataType type =
      resolved.scenario.workload->precision == Precision::FP16 ? DataType::FP16 : DataType::BF16;
  const KernelCall pass{
      "compress weights", type,
      Pointwise{
          .elements = std::llround(elements), .reads = 1 + kMaskBit, .writes = directions * kCompressed}};
  Job job = resolved.job;
  std::size_t replaced = 0;
  for (std::shared_ptr<const Program>& program : job.programs) {
    auto thinner = std::make_shared<Program>(*program);
    replaced += make_sparse(*thinner, resolved.gpu_models.front(), sparsity.backward);
    launch_at_end(*thinner, pass, resolved.host);
    program = std::move(thinner);
  }
  if (replaced == 0) {
    throw InputError{at, "sparsity: the model has no linear layer whose widths are multiples of 16"};
  }
  for (MemoryBreakdown& memory : job.memory) {
    memory[MemoryUse::Parameters] +=
        compressed_bytes(*resolved.scenario.workload, resolved.scenario.parallelism, elements, directions);
  }
  return job;
}

}  // namespace lockstep
