#include "app/traced_kernels.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "calibration/kernels/shape_words.hpp"
#include "traces/kineto/concurrent_work.hpp"
#include "traces/replay/pointwise_work.hpp"
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

/// The number in deviceProperties, which lists all GPUs that the process sees, of the GPU of a rank's
/// kernels.
std::size_t its_gpu(const kineto::RecordedTrace& trace) {
  const std::int32_t device = trace.work.empty() ? 0 : trace.work.front().device;
  const auto at = static_cast<std::size_t>(std::max(device, 0));
  return at < trace.gpu_names.size() ? at : 0;
}

/// Takes the file's facts on the GPU, and checks them.
void take_gpu(const kineto::RecordedTrace& trace, const std::filesystem::path& file,
              const KernelImportOptions& options, KernelImportReport& report) {
  if (trace.gpu_names.empty()) return;
  const std::size_t gpu = its_gpu(trace);
  report.device = trace.gpu_names[gpu];
  report.memory = Bytes{static_cast<double>(std::max<std::int64_t>(trace.gpu_memory[gpu], 0))};
  check_multiprocessors({report.device, file.string(), static_cast<int>(trace.multiprocessors[gpu])},
                        options);
  if (!report.device.empty()) report.source += ", " + report.device;
}

/// Counts the kernels of which no row says what they do.
void count_the_rest(const kineto::RecordedTrace& trace, const std::vector<bool>& is_modelled,
                    KernelImportReport& report) {
  for (std::size_t i = 0; i < trace.work.size(); ++i) {
    if (is_modelled[i] || trace.work[i].kind != kineto::WorkKind::Kernel) continue;
    ++(replay::computes_offsets(trace.names.text(trace.work[i].name)) ? report.strided : report.not_modelled);
  }
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
  if (rank.trace.is_simulated) {
    throw InputError{
        {file.string()},
        "is a timeline that Lockstep simulated: its kernels take what the kernel models say, and "
        "there is nothing to learn from them; record a run on the GPU with PyTorch's profiler "
        "(record_shapes=True)"};
  }
  KernelImportReport report;
  report.source = file.filename().string() + ", PyTorch's profiler";
  take_gpu(rank.trace, file, options, report);
  const std::vector<bool> beside = kineto::runs_beside_others(rank.trace);
  std::vector<bool> is_modelled(rank.trace.work.size(), false);
  for (const replay::ModelledWork& work : replay::modelled_work(rank)) {
    const bool is_kernel =
        !work.work.empty() && rank.trace.work[work.work.front()].kind == kineto::WorkKind::Kernel;
    if (!is_kernel) continue;  // a copy
    auto call = work.calls.size() == 1 ? sayable(work.calls.front()) : std::nullopt;
    if (!call) continue;
    for (const std::uint32_t index : work.work) is_modelled[index] = true;
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
  count_the_rest(rank.trace, is_modelled, report);
  return report;
}

}  // namespace lockstep
