#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "synth/aggregate.hpp"
#include "synth/model.hpp"
#include "synth/sample.hpp"

namespace lockstep {

/// The machine that a sample is for.
struct SynthMachine {
  std::string cluster;  ///< as a scenario says it
  std::string gpu;      ///< in place of the cluster's; empty: the cluster's
};

/// The folder of a sample, and its description.
struct SynthTarget {
  std::string folder;
  SynthMachine machine;
  bool gzip = false;
};

/// The knobs of `--set`: symbols, and what is no symbol.
struct SynthKnobs {
  synth::SampleOptions sample;
  std::string gpu;
};

/// `layers=48`, `precision=bf16`, `gpu=h100_80gb`. @throws std::invalid_argument
[[nodiscard]] SynthKnobs knobs_of(const std::vector<std::string>& assignments);

/// The machine for so many ranks: what the user says, else as many nodes of the recorded one as they need.
/// @throws std::invalid_argument where the model does not know one
[[nodiscard]] SynthMachine machine_for(const synth::JobModel& job, const SynthMachine& given, double ranks);

/// The GPU of the machine. @throws InputError for a machine or GPU that there is not
[[nodiscard]] GpuSpec gpu_of(const SynthMachine& machine, std::uint32_t ranks);

/// Times of collectives on the machine, of ranks on its GPUs in their order. @throws InputError as gpu_of()
[[nodiscard]] synth::CollectiveTime collective_times(const SynthMachine& machine, const GpuSpec& gpu);

/// Writes `rank.%d.et`, `rank.groups.json`, `scenario.yaml`, and @p report as `report.json`.
void write_sample(const synth::Sample& sample, const synth::JobModel& source, const GpuSpec& gpu,
                  const SynthTarget& target, const std::string& report);

/// The recording that a sample is, for scores. @param gpu that it was timed for
[[nodiscard]] synth::Recording recording_of(const synth::Sample& sample, const GpuSpec& gpu);

/// report.json of a sample: seed, symbols, repairs, distance to the nearest job of the model.
[[nodiscard]] std::string sample_report(const synth::Model& model, const synth::Sample& sample,
                                        const synth::SampleOptions& options, const GpuSpec& gpu);

}  // namespace lockstep
