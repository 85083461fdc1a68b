#include "generate/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "generate/storages.hpp"
#include "generate/work_text.hpp"
#include "sim/compiled_program.hpp"
#include "traces/replay/operator_arguments.hpp"
#include "traces/replay/predicted_kernels.hpp"
#include "traces/replay/shaped_operator.hpp"

namespace lockstep::generate {
namespace {

/// Picks cuBLASLt, cuDNN or the CUDA runtime, else one of the program's own kernels (generate/runtime/).
struct ChooseCuda {
  DataType type;

  [[nodiscard]] bool is_floating() const {
    return type == DataType::FP32 || type == DataType::TF32 || type == DataType::FP16 ||
           type == DataType::BF16;
  }
  [[nodiscard]] Backend own_if(bool possible) const { return possible ? Backend::Own : Backend::Busy; }

  Backend operator()(const Gemm& /*unused*/) const {
    return is_floating() || type == DataType::FP8 ? Backend::Library : Backend::Busy;
  }
  Backend operator()(const Convolution& /*unused*/) const {
    return is_floating() ? Backend::Library : Backend::Busy;
  }
  Backend operator()(const Memcpy& /*unused*/) const { return Backend::Library; }
  Backend operator()(const Memset& /*unused*/) const { return Backend::Library; }
  Backend operator()(const Pointwise& work) const {
    return own_if(work.elements > 0 && work.sector_window == 0);
  }
  Backend operator()(const Reduction& /*unused*/) const { return own_if(type != DataType::FP8); }
  Backend operator()(const Concat& /*unused*/) const { return Backend::Own; }
  Backend operator()(const Transpose& /*unused*/) const { return Backend::Own; }
  Backend operator()(const TriangularIndex& /*unused*/) const { return own_if(is_floating()); }
  Backend operator()(const Softmax& /*unused*/) const { return own_if(is_floating()); }
  Backend operator()(const LayerNorm& /*unused*/) const { return own_if(is_floating()); }
  Backend operator()(const BatchNorm& /*unused*/) const { return own_if(is_floating()); }
  Backend operator()(const IndexSelect& /*unused*/) const { return own_if(is_floating()); }
  Backend operator()(const OptimizerUpdate& /*unused*/) const { return own_if(is_floating()); }
  Backend operator()(const EmbeddingBags& work) const {
    constexpr std::int64_t kMostColumns = 1024;
    return own_if((type == DataType::FP32 || type == DataType::FP16) && !work.tables.empty() &&
                  std::ranges::all_of(work.tables, [](const EmbeddingTable& table) {
                    return table.location == TableLocation::Gpu && table.dimension % 4 == 0 &&
                           table.dimension <= kMostColumns;
                  }));
  }
  Backend operator()(const EmbeddingCacheInsert& /*unused*/) const { return Backend::Busy; }
  Backend operator()(const FlashAttention& work) const {
    constexpr std::int64_t kTile = 16, kMostColumns = 128;  // of tensor cores, and of what a block holds
    const bool has_type = type == DataType::FP32 || type == DataType::FP16 || type == DataType::BF16;
    return own_if(has_type && work.head_size % kTile == 0 && work.head_size <= kMostColumns);
  }
  Backend operator()(const Timed& /*unused*/) const { return Backend::Busy; }
};

/// Picks a PyTorch operator where there is one (generate/runtime/benchmark.py).
struct ChoosePyTorch {
  DataType type;
  template <class Work>
  Backend operator()(const Work& /*unused*/) const {
    constexpr bool has_none = std::is_same_v<Work, Timed> || std::is_same_v<Work, EmbeddingCacheInsert>;
    return has_none || (std::is_same_v<Work, Gemm> && type == DataType::FP8) ? Backend::Busy
                                                                             : Backend::Operator;
  }
  Backend operator()(const Memcpy& /*unused*/) const { return Backend::Operator; }
};

Backend worst_of(const std::vector<KernelCall>& calls, Target target) {
  Backend worst = Backend::Library;
  for (const KernelCall& call : calls) {
    worst = std::max(worst, backend_for(call, target));
  }
  return calls.empty() ? Backend::Busy : worst;
}

std::string one_word(std::string text) {
  std::ranges::replace(text, ' ', '_');
  return text.empty() ? "other" : text;
}

/// Family and calls of one work record of a trace (kineto::Work).
struct WorkContent {
  std::string family;
  std::vector<KernelCall> calls;
  bool is_part = false;
};

/// Models an unknown kernel: it reads its operator's arguments and writes a tensor as large as the largest.
/// Returns nothing without recorded shapes, or where this would exceed the fastest memory: such a kernel used
/// only a part of its arguments.
std::optional<KernelCall> streamed_operands(const replay::RankRecording& rank, std::uint32_t work) {
  constexpr double kFastestMemory = 4e12;  // B/s; an H200 reaches 4.8e12 by its data sheet
  const std::uint32_t op = replay::operator_with_shapes(rank, rank.links.call_of_work[work]);
  if (op == replay::kNone) {
    return std::nullopt;
  }
  const replay::OperatorArguments called = replay::arguments_of(rank.trace, rank.trace.operators[op]);
  const DataType type = called.type().value_or(DataType::FP32);
  double all = 0, largest = 0;
  const auto add = [&](const replay::Dims& shape) {
    all += replay::elements_of(shape);
    largest = std::max(largest, replay::elements_of(shape));
  };
  for (const replay::OperatorArgument& argument : called.arguments) {
    if (argument.shape) {
      add(*argument.shape);
    }
    std::ranges::for_each(argument.shapes, add);
  }
  const kineto::Work& recorded = rank.trace.work[work];
  const double bytes = lockstep::size_of(type).in_base_units() * (all + largest);
  if (!(largest >= 1) || bytes > kFastestMemory * 1e-9 * static_cast<double>(recorded.duration())) {
    return std::nullopt;
  }
  Pointwise streams;
  streams.elements = static_cast<std::int64_t>(largest);
  streams.reads = all / largest;
  return KernelCall{rank.trace.names.text(recorded.name), type, streams};
}

/// An operator's calls are those of its kernels where there are as many; else its longest kernel has them
/// all.
std::vector<WorkContent> contents_of(const replay::RankRecording& rank) {
  std::vector<WorkContent> contents(rank.trace.work.size());
  for (const replay::ModelledWork& modelled : replay::modelled_work(rank)) {
    const bool is_one_by_one = modelled.calls.size() == modelled.work.size();
    const auto longest = std::ranges::max_element(
        modelled.work, {}, [&](std::uint32_t work) { return rank.trace.work[work].duration(); });
    for (std::size_t i = 0; i < modelled.work.size(); ++i) {
      WorkContent& content = contents[modelled.work[i]];
      content.family = modelled.family;
      if (is_one_by_one) {
        content.calls = {modelled.calls[i]};
      } else if (modelled.work[i] == *longest) {
        content.calls = modelled.calls;
      } else {
        content.is_part = true;
      }
    }
  }
  for (std::uint32_t work = 0; work < contents.size(); ++work) {
    WorkContent& content = contents[work];
    const bool is_kernel = rank.trace.work[work].kind == kineto::WorkKind::Kernel;
    if (is_kernel && content.calls.empty() && !content.is_part && !rank.families.communicates(work)) {
      if (auto streamed = streamed_operands(rank, work)) {
        content.calls = {*std::move(streamed)};
      }
    }
  }
  return contents;
}

/// A trace's program with a kernel for each that differs in name, time, content or operands.
class TraceKernels {
 public:
  TraceKernels(const Program& recorded, const replay::RankRecording& rank, Target target)
      : recorded_{recorded}, rank_{rank}, contents_{contents_of(rank)}, target_{target} {}

  /// Gives kernels the places of their operands.
  MemoryPlan plan(const pytorch_et::ExecutionTrace& trace) {
    PlannedOperands planned =
        plan_operands(rank_, trace, [&](std::uint32_t work) { return largest_operand(work); });
    operands_ = std::move(planned.of_work);
    return std::move(planned.plan);
  }

  std::pair<Program, std::vector<BenchmarkKernel>> write(const replay::RankProgram& source) {
    Program program = recorded_;
    program.kernels.clear();
    for (std::size_t thread = 0; thread < program.threads.size(); ++thread) {
      auto& code = program.threads[thread].instructions;
      for (std::size_t i = 0; i < code.size(); ++i) {
        if (code[i].op == Opcode::Launch) {
          code[i].operand = number(recorded_.kernels[code[i].operand], source.subjects[thread][i], program);
        }
      }
    }
    return {std::move(program), std::move(kernels_)};
  }

 private:
  using Key = std::tuple<std::string, double, std::string, bool, std::vector<std::uint32_t>,
                         std::vector<std::uint32_t>, std::int32_t>;

  std::uint32_t number(const KernelCall& recorded, std::uint32_t work, Program& program) {
    const WorkContent& content = contents_[work];
    const double seconds = std::get<Timed>(recorded.work).duration.in_base_units();
    const WorkOperands operands = operands_.empty() ? WorkOperands{} : operands_[work];
    const std::int32_t graph = graph_of(work);
    const auto [known, is_new] =
        numbers_.try_emplace(Key{recorded.name, seconds, text_of(content.calls), content.is_part,
                                 operands.reads, operands.writes, graph},
                             static_cast<std::uint32_t>(kernels_.size()));
    if (is_new) {
      program.kernels.push_back(recorded);
      BenchmarkKernel kernel;
      kernel.name = recorded.name;
      kernel.family = one_word(content.family.empty() ? rank_.families.origin(work).family : content.family);
      kernel.calls = content.calls;
      kernel.is_part = content.is_part;
      kernel.backend = content.is_part ? part_of(work) : worst_of(content.calls, target_);
      kernel.seconds = seconds;
      kernel.reads = operands.reads;
      kernel.writes = operands.writes;
      kernel.graph = graph;
      kernels_.push_back(std::move(kernel));
    }
    return known->second;
  }

  static std::string text_of(const std::vector<KernelCall>& calls) {
    std::string text;
    for (const KernelCall& call : calls) {
      const benchmark::Call written = call_of(call);
      text += written.work + written.type;
      const auto add = [&](const benchmark::Fields& fields) {
        for (const auto& [name, value] : fields) {
          text += fmt::format(" {}={}", name, value);
        }
      };
      add(written.fields);
      std::ranges::for_each(written.tables, add);
    }
    return text;
  }

  /// Kernels that one call launches are a CUDA graph; each launch of one is a graph of its own.
  std::int32_t graph_of(std::uint32_t work) {
    const std::uint32_t call = rank_.links.call_of_work[work];
    if (call == replay::kNone || rank_.trace.calls[call].kind != kineto::CallKind::GraphLaunch ||
        rank_.links.works[call].size() < 2) {
      return -1;
    }
    return graphs_.try_emplace(call, static_cast<std::int32_t>(graphs_.size())).first->second;
  }

  /// Bytes of the largest storage that a work's kernel takes operands from. Tables of embeddings are not
  /// among them: lookups have tables of their own.
  [[nodiscard]] double largest_operand(std::uint32_t work) const {
    const WorkContent& content = contents_[work];
    if (content.calls.empty() || worst_of(content.calls, target_) == Backend::Busy) {
      return 0;
    }
    double largest = std::numeric_limits<double>::infinity();
    for (const KernelCall& call : content.calls) {
      if (const auto* bags = std::get_if<EmbeddingBags>(&call.work)) {
        for (const EmbeddingTable& table : bags->tables) {
          largest = std::min(largest, static_cast<double>(table.rows * table.dimension) *
                                              lockstep::size_of(call.type).in_base_units() -
                                          1);
        }
      }
    }
    return largest;
  }

  /// A part is reproduced as the whole is; a whole that cannot be leaves all its parts busy.
  Backend part_of(std::uint32_t work) {
    if (wholes_.empty()) {
      wholes_.assign(contents_.size(), Backend::Busy);
      for (const replay::ModelledWork& modelled : replay::modelled_work(rank_)) {
        for (const std::uint32_t member : modelled.work) {
          wholes_[member] = worst_of(modelled.calls, target_);
        }
      }
    }
    return wholes_[work];
  }

  const Program& recorded_;
  const replay::RankRecording& rank_;
  std::vector<WorkContent> contents_;
  Target target_;
  std::vector<WorkOperands> operands_;            // by work; empty: not known
  std::map<std::uint32_t, std::int32_t> graphs_;  // by call
  std::vector<Backend> wholes_;
  std::map<Key, std::uint32_t> numbers_;
  std::vector<BenchmarkKernel> kernels_;
};

/// Work whose time alone is known is busy, whatever its parts are: they keep their own times.
void settle(BenchmarkKernel& kernel) {
  if (kernel.backend == Backend::Busy && kernel.is_part) {
    kernel.is_part = false;
  }
}

}  // namespace

Backend backend_for(const KernelCall& call, Target target) {
  return target == Target::Cuda ? std::visit(ChooseCuda{call.type}, call.work)
                                : std::visit(ChoosePyTorch{call.type}, call.work);
}

Benchmark benchmark_of(const Job& job, std::span<const GpuSpec> gpu_models,
                       std::span<const std::uint32_t> gpu_model_of_rank, Target target) {
  Benchmark made{.job = job, .kernels = {}};
  for (std::uint32_t number = 0; number < job.programs.size(); ++number) {
    const Program& program = *job.programs[number];
    const auto rank = std::ranges::find(job.ranks, number, &RankAssignment::program);
    std::vector<BenchmarkKernel> kernels;
    if (rank != job.ranks.end()) {
      const auto index = static_cast<std::size_t>(rank - job.ranks.begin());
      const std::vector<KernelTiming> timings = time_kernels(program, gpu_models[gpu_model_of_rank[index]]);
      for (std::size_t i = 0; i < program.kernels.size(); ++i) {
        const KernelCall& call = program.kernels[i];
        const bool is_known = !std::holds_alternative<Timed>(call.work);
        kernels.push_back({.name = call.name,
                           .family = work_name(call.work),
                           .calls = is_known ? std::vector{call} : std::vector<KernelCall>{},
                           .backend = backend_for(call, target),
                           .seconds = timings[i].seconds});
      }
    }
    made.kernels.push_back(std::move(kernels));
  }
  return made;
}

Benchmark benchmark_of(const replay::Replay& replay,
                       std::span<const pytorch_et::ExecutionTrace> execution_traces, Target target) {
  Benchmark made{.job = replay.job, .kernels = {}};
  for (std::size_t trace = 0; trace < replay.programs.size(); ++trace) {
    TraceKernels rank{*replay.job.programs[trace], replay.ranks[trace], target};
    made.memory.push_back(execution_traces.empty() ? MemoryPlan{} : rank.plan(execution_traces[trace]));
    auto [program, kernels] = rank.write(replay.programs[trace]);
    std::ranges::for_each(kernels, settle);
    made.job.programs[trace] = std::make_shared<const Program>(std::move(program));
    made.kernels.push_back(std::move(kernels));
  }
  return made;
}

}  // namespace lockstep::generate
