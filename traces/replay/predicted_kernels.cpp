#include "traces/replay/predicted_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "ops/kernel_model.hpp"
#include "sim/interference.hpp"

namespace lockstep::replay {
namespace {

constexpr std::size_t kFewestSmall = 20;  // kernels that tell what the profiler adds
constexpr double kAsSmallAsAny = 1.1;     // times the least that a kernel takes
constexpr double kLeastError = 1e-4;      // an error of nothing must not make the geometric mean nothing

/// PyTorch lets cuDNN's convolutions, not cuBLAS' products, take TF32 where the GPU has it
/// (torch.backends.cudnn.allow_tf32); a GPU before Ampere had no choice.
DataType type_on(const KernelCall& call, const GpuSpec& gpu, const kineto::RecordedTrace& trace) {
  constexpr std::int64_t kAmpere = 8;
  const bool has_tf32 = gpu.peak.tf32 > FlopsPerSecond{0};
  if (call.type == DataType::TF32 && !has_tf32) {
    return DataType::FP32;
  }
  const bool had_no_choice = trace.compute_major >= 0 && trace.compute_major < kAmpere;
  const bool is_convolution = std::holds_alternative<Convolution>(call.work);
  return call.type == DataType::FP32 && has_tf32 && had_no_choice && is_convolution ? DataType::TF32
                                                                                    : call.type;
}

/// None where the GPU has no unit for the type, or the shapes are none that a model knows.
std::optional<double> time_on(const GpuSpec& gpu, const ModelledWork& work,
                              const kineto::RecordedTrace& trace) {
  double seconds = 0;
  try {
    for (KernelCall call : work.calls) {
      call.type = type_on(call, gpu, trace);
      seconds += model_for(call).predict(call, gpu).duration.in_base_units();
    }
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
  return seconds;
}

using Span = std::pair<kineto::Nanoseconds, kineto::Nanoseconds>;

/// When the rank communicates: apart from each other, in order.
std::vector<Span> communication_of(const RankRecording& rank) {
  std::vector<Span> all, apart;
  for (const std::uint32_t index : rank.communication) {
    all.emplace_back(rank.trace.work[index].start, rank.trace.work[index].end);
  }
  std::ranges::sort(all);
  for (const Span& span : all) {
    if (apart.empty() || span.first > apart.back().second) {
      apart.push_back(span);
    } else {
      apart.back().second = std::max(apart.back().second, span.second);
    }
  }
  return apart;
}

/// The share of each work's time in which the rank communicates; 0: it ran alone.
std::vector<double> shares_beside_communication(const RankRecording& rank) {
  const std::vector<Span> busy = communication_of(rank);
  std::vector<double> shares;
  shares.reserve(rank.trace.work.size());
  for (const kineto::Work& work : rank.trace.work) {
    kineto::Nanoseconds beside = 0;
    for (auto span = std::ranges::upper_bound(busy, work.start, {}, &Span::second);
         span != busy.end() && span->first < work.end; ++span) {
      beside += std::min(span->second, work.end) - std::max(span->first, work.start);
    }
    shares.push_back(work.duration() > 0 ? static_cast<double>(beside) / static_cast<double>(work.duration())
                                         : 0);
  }
  return shares;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// A rank's works with what models say of them.
struct PredictedRank {
  std::vector<ModelledWork> works;
  std::vector<std::optional<double>> seconds;  ///< by work
  std::vector<double> beside;                  ///< shares_beside_communication()
};

/// Relative errors of a family, gathered.
struct FamilySum {
  FamilyComparison made;
  double logarithms = 0;
};

class KernelRetiming {
 public:
  KernelRetiming(Replay& replay, const GpuSpec& gpu, const GpuSpec* recorded_on,
                 std::span<const EmbeddingTable> tables)
      : replay_{replay},
        gpu_{gpu},
        recorded_on_{recorded_on == nullptr ? gpu : *recorded_on},
        tables_{tables} {
    if (recorded_on != nullptr) {
      made_.unmodelled_factor = recorded_on->memory_bandwidth / gpu.memory_bandwidth;
    }
  }

  KernelComparison run() {
    std::vector<PredictedRank> ranks;
    for (const RankRecording& rank : replay_.ranks) {
      ranks.push_back(predicted(rank));
    }
    find_profiler();
    for (std::size_t i = 0; i < replay_.ranks.size(); ++i) {
      const std::vector<double> seconds = durations(replay_.ranks[i], ranks[i]);
      replay_.job.programs[i] = std::make_shared<const Program>(retimed(i, seconds));
    }
    for (auto& [name, sum] : families_) {
      if (sum.made.compared > 0) {
        sum.made.geometric_mean = std::exp(sum.logarithms / static_cast<double>(sum.made.compared));
      }
      made_.families.push_back(std::move(sum.made));
    }
    for (auto& [name, kernels] : unmodelled_) {
      made_.unmodelled.push_back(std::move(kernels));
    }
    std::ranges::stable_sort(made_.families, std::ranges::greater{}, &FamilyComparison::recorded);
    std::ranges::stable_sort(made_.unmodelled, std::ranges::greater{}, &UnmodelledKernels::recorded);
    return std::move(made_);
  }

 private:
  PredictedRank predicted(const RankRecording& rank) {
    PredictedRank made{modelled_work(rank, tables_), {}, shares_beside_communication(rank)};
    for (const ModelledWork& work : made.works) {
      made.seconds.push_back(time_on(gpu_, work, rank.trace));
      if (work.work.size() == 1 && made.beside[work.work.front()] == 0 && is_pointwise(work)) {
        const auto least = time_on(recorded_on_, work, rank.trace);
        if (least && *least <= kAsSmallAsAny * recorded_on_.kernel_minimum.in_base_units()) {
          small_.push_back(seconds_of(rank.trace.work[work.work.front()]) - *least);
        }
      }
    }
    return made;
  }

  static bool is_pointwise(const ModelledWork& work) {
    return work.calls.size() == 1 && std::holds_alternative<Pointwise>(work.calls.front().work);
  }

  void find_profiler() {
    if (small_.size() >= kFewestSmall) {
      made_.smallest = small_.size();
      made_.profiler = std::max(0.0, median_of(small_));
    }
  }

  /// Copies and memsets are none: the profiler adds nothing to them.
  static double kernels_of(const RankRecording& rank, const ModelledWork& work) {
    return static_cast<double>(std::ranges::count_if(work.work, [&](std::uint32_t index) {
      return rank.trace.work[index].kind == kineto::WorkKind::Kernel;
    }));
  }

  /// @return by work; below 0: as recorded
  std::vector<double> durations(const RankRecording& rank, const PredictedRank& of) {
    constexpr double kRecorded = -1;
    std::vector<double> seconds(rank.trace.work.size(), kRecorded);
    for (std::size_t i = 0; i < of.works.size(); ++i) {
      const ModelledWork& work = of.works[i];
      double recorded = 0;
      for (const std::uint32_t index : work.work) {
        recorded += seconds_of(rank.trace.work[index]);
      }
      if (!of.seconds[i] || !(recorded > 0)) {
        continue;
      }
      double beside = 0;  // of its time
      for (const std::uint32_t index : work.work) {
        beside += of.beside[index] * seconds_of(rank.trace.work[index]) / recorded;
      }
      const double kernels = kernels_of(rank, work);
      const double slower = kernels > 0 ? 1 + beside * (slowdown_ - 1) : 1;  // copies need no SMs
      const double predicted = *of.seconds[i] * slower + made_.profiler * kernels;
      for (const std::uint32_t index : work.work) {
        seconds[index] = predicted * seconds_of(rank.trace.work[index]) / recorded;
      }
      note(work, recorded, predicted, beside == 0);
    }
    const std::vector<bool> is_communication = communicates(rank);
    for (std::uint32_t i = 0; i < seconds.size(); ++i) {
      if (!is_communication[i]) {
        made_.recorded += seconds_of(rank.trace.work[i]);
        if (seconds[i] < 0) {
          seconds[i] = leave(rank.trace, rank.trace.work[i]);
        }
      }
    }
    return seconds;
  }

  void note(const ModelledWork& work, double recorded, double predicted, bool alone) {
    FamilySum& sum = families_[work.family];
    sum.made.family = work.family;
    sum.made.kernels += work.work.size();
    sum.made.recorded += recorded;
    sum.made.predicted += predicted;
    sum.made.alone_recorded += alone ? recorded : 0;
    sum.made.alone_predicted += alone ? predicted : 0;
    if (recorded >= kLeastCompared) {
      ++sum.made.compared;
      sum.logarithms += std::log(std::max(std::abs(predicted / recorded - 1), kLeastError));
    }
  }

  double leave(const kineto::RecordedTrace& trace, const kineto::Work& work) {
    const std::string& name = trace.names.text(work.name);
    UnmodelledKernels& kernels = unmodelled_[name];
    kernels.name = name;
    ++kernels.kernels;
    kernels.recorded += seconds_of(work);
    return made_.unmodelled_factor * seconds_of(work);
  }

  /// The program of a trace with the durations of its works; equal kernels are stored once, and their
  /// origins are those of the Program that is made.
  Program retimed(std::size_t trace, const std::vector<double>& seconds) {
    Program program = *replay_.job.programs[trace];
    RankProgram& rank = replay_.programs[trace];
    const KernelOrigins origins = std::move(rank.origins);
    rank.origins.clear();
    const std::vector<KernelCall> recorded = std::move(program.kernels);
    program.kernels.clear();
    std::map<std::tuple<std::string, std::string, double>, std::uint32_t> known;
    for (std::size_t thread = 0; thread < program.threads.size(); ++thread) {
      auto& code = program.threads[thread].instructions;
      for (std::size_t i = 0; i < code.size(); ++i) {
        if (code[i].op != Opcode::Launch) {
          continue;
        }
        KernelCall kernel = recorded[code[i].operand];
        const WorkOrigin& origin = origins[code[i].operand];
        const double time = seconds[rank.subjects[thread][i]];
        if (time >= 0) {
          kernel.work = Timed{Seconds{time}};
        }
        const double key = std::get<Timed>(kernel.work).duration.in_base_units();
        const auto [entry, fresh] = known.try_emplace({kernel.name, origin.launcher, key},
                                                      static_cast<std::uint32_t>(program.kernels.size()));
        if (fresh) {
          rank.origins.push_back(origin);
          program.kernels.push_back(std::move(kernel));
        }
        code[i].operand = entry->second;
      }
    }
    return program;
  }

  Replay& replay_;
  const GpuSpec& gpu_;
  const GpuSpec& recorded_on_;
  std::span<const EmbeddingTable> tables_;
  double slowdown_ = Interference{gpu_.sm_count, gpu_.communication.sm_count, 0}.slowdown(
      gpu_.communication.sm_count, 0);  ///< by the SMs of communication; whether it transfers is not known
  std::vector<double> small_;           ///< s that the smallest kernels took beyond what models say
  KernelComparison made_;
  std::map<std::string, FamilySum> families_;
  std::map<std::string, UnmodelledKernels> unmodelled_;
};

}  // namespace

FamilyComparison KernelComparison::modelled() const {
  FamilyComparison sum;
  sum.family = "all of them";
  double logarithms = 0;
  for (const FamilyComparison& family : families) {
    sum.kernels += family.kernels;
    sum.recorded += family.recorded;
    sum.predicted += family.predicted;
    sum.alone_recorded += family.alone_recorded;
    sum.alone_predicted += family.alone_predicted;
    sum.compared += family.compared;
    if (family.compared > 0) {
      logarithms += static_cast<double>(family.compared) * std::log(family.geometric_mean);
    }
  }
  if (sum.compared > 0) {
    sum.geometric_mean = std::exp(logarithms / static_cast<double>(sum.compared));
  }
  return sum;
}

KernelComparison predict_kernels(Replay& replay, const GpuSpec& gpu, const GpuSpec* recorded_on,
                                 std::span<const EmbeddingTable> tables) {
  return KernelRetiming{replay, gpu, recorded_on, tables}.run();
}

}  // namespace lockstep::replay
