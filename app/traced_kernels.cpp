#include "app/traced_kernels.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "calibration/kernels/shape_words.hpp"
#include "traces/kineto/concurrent_work.hpp"
#include "traces/replay/predicted_kernels.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep {
namespace {

/// The call as a row of measured kernels has it; none where a row cannot say all of it.
std::optional<KernelCall> sayable(const KernelCall& call) {
  try {
    const std::string family{family_text(call.work)};
    KernelCall said =
        kernel_call(family, std::string{type_text(call.type)}, shape_words(shape_text(call.work)));
    if (said.work == call.work) return said;
  } catch (const std::bad_variant_access&) {  // a kind of kernel without a family
  } catch (const std::logic_error&) {         // or without words for its shape
  }
  return std::nullopt;
}

Seconds recorded_time(const replay::ModelledWork& work, const kineto::RecordedTrace& trace) {
  Seconds sum{0};
  for (const std::uint32_t index : work.work) {
    sum += Seconds{static_cast<double>(trace.work[index].duration()) * 1e-9};
  }
  return sum;
}

/// The GPU of a rank's kernels. deviceProperties lists all that the process sees, by their numbers.
StatedGpu stated_gpu(const kineto::RecordedTrace& trace, const std::filesystem::path& file) {
  if (trace.gpu_names.empty()) return {"", file.string(), 0};
  const std::int32_t device = trace.work.empty() ? 0 : trace.work.front().device;
  const auto at = static_cast<std::size_t>(std::max(device, 0));
  const std::size_t its = at < trace.gpu_names.size() ? at : 0;
  return {trace.gpu_names[its], file.string(), static_cast<int>(trace.multiprocessors[its])};
}

}  // namespace

bool is_trace_name(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

KernelImportReport import_traced_kernels(const std::filesystem::path& file,
                                         const KernelImportOptions& options,
                                         KernelMeasurements& measurements) {
  const replay::Replay replay = replay::make_replay(replay::read_windows({file.string()}));
  const replay::RankRecording& rank = replay.ranks.front();
  KernelImportReport report;
  report.source = file.filename().string() + ", PyTorch's profiler";
  const StatedGpu gpu = stated_gpu(rank.trace, file);
  check_multiprocessors(gpu, options);
  report.device = gpu.name;
  if (!gpu.name.empty()) report.source += ", " + gpu.name;
  const std::vector<bool> beside = kineto::runs_beside_others(rank.trace);
  std::size_t modelled = 0;
  for (const replay::ModelledWork& work : replay::modelled_work(rank)) {
    const bool is_kernel =
        !work.work.empty() && rank.trace.work[work.work.front()].kind == kineto::WorkKind::Kernel;
    if (!is_kernel) continue;  // a copy
    auto call = work.calls.size() == 1 ? sayable(work.calls.front()) : std::nullopt;
    if (!call) continue;
    modelled += work.work.size();
    if (std::ranges::any_of(work.work, [&](std::uint32_t index) { return beside[index]; })) {
      ++report.beside_others;
      continue;
    }
    const Seconds time = recorded_time(work, rank.trace);
    if (!(time > Seconds{0}) || is_too_short(*call, options)) {  // old traces count whole microseconds
      ++report.too_short;
      continue;
    }
    ++report.used;
    measurements.push_back({options.gpu, *std::move(call), time});
  }
  std::size_t kernels = 0;
  for (const kineto::Work& work : rank.trace.work) kernels += work.kind == kineto::WorkKind::Kernel ? 1 : 0;
  report.not_modelled = kernels - modelled;
  return report;
}

}  // namespace lockstep
