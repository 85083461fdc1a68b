/// @file
/// `lockstep-measure`: exit codes as of `lockstep`: 0 ok, 1 a bug, or points that failed, 2 the user's
/// mistake.

#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "base/error.hpp"
#include "calibration/measure/check.cuh"
#include "calibration/measure/families/collective.cuh"
#include "calibration/measure/families/families.cuh"
#include "calibration/measure/gpu_experiments.cuh"
#include "calibration/measure/machine.cuh"
#include "calibration/measure/options.hpp"
#include "calibration/measure/session.hpp"

namespace lockstep {
namespace {

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kInput = 2;

void tell(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

using Prepare = std::unique_ptr<Experiment> (*)(const Gpu&, const GridPoint&);

const std::map<std::string, Prepare>& preparations() {
  static const std::map<std::string, Prepare> by_family{{"host_call", host_call_experiment},
                                                        {"memory", memory_experiment},
                                                        {"copy", copy_experiment},
                                                        {"gemm", gemm_experiment},
                                                        {"elementwise", elementwise_experiment},
                                                        {"reduction", reduction_experiment},
                                                        {"normalisation", normalisation_experiment},
                                                        {"embedding", embedding_experiment}};
  return by_family;
}

/// Clocks rise within some tenths of a second of work.
void warm_up(const Gpu& gpu) {
  for (const Seconds begin = host_now(); host_now() - begin < Seconds{0.5};) {
    gpu.flush_cache(gpu.stream());
    LOCKSTEP_CHECK(cudaStreamSynchronize(gpu.stream()));
  }
}

int measure(const Options& options, const Processes& processes, int gpus) {
  const Gpu gpu{0};
  if (options.check) {
    return check_kernels(gpu, tell) ? kOk : kFailed;
  }
  const Nvml nvml{pci_bus_id(0)};
  warm_up(gpu);
  MachineUnderTest machine;
  machine.limits = limits_of(processes, gpus);
  machine.description = description_of(machine.limits, nvml);
  machine.prepare = [&](const Family& family, const GridPoint& point) {
    if (family.name == "collective") {
      return collective_experiment(processes, gpus, point);
    }
    return family.name == "interference" ? interference_experiment(gpu, gpus, point)
                                         : preparations().at(family.name)(gpu, point);
  };
  machine.works = [] { return cudaDeviceSynchronize() == cudaSuccess; };
  machine.sm_clock_mhz = [&] { return nvml.sm_clock_mhz(); };
  const Outcomes outcomes = measure_all(options, machine, tell);
  return outcomes.failed == 0 ? kOk : kFailed;
}

int run(const Processes& processes, int count, char** arguments) {
  const std::optional<Options> options = options_of(count, arguments);
  if (!options) {
    return kOk;
  }
  const bool has_gpu = visible_gpus() > 0;
  if (options->list) {
    const MachineLimits limits = has_gpu ? limits_of(processes, gpus_of_each(processes)) : MachineLimits{};
    if (processes.leads()) {
      fmt::print("{}{}", has_gpu ? "" : "no GPU is visible; of one H100 of 80 GB:\n",
                 list_of(*options, limits));
    }
    return kOk;
  }
  if (!has_gpu) {
    throw InputError{{"lockstep-measure"},
                     "no GPU is visible: the driver is missing, or CUDA_VISIBLE_DEVICES hides all"};
  }
  const int gpus = gpus_of_each(processes);
  LOCKSTEP_CHECK(cudaSetDevice(processes.index_on_node() * gpus));
  if (!processes.leads()) {
    follow(processes, gpus);
    return kOk;
  }
  const int outcome = measure(*options, processes, gpus);
  dismiss(processes);
  return outcome;
}

}  // namespace
}  // namespace lockstep

int main(int count, char** arguments) {
  using namespace lockstep;
  const Processes processes{&count, &arguments};
  try {
    return run(processes, count, arguments);
  } catch (const InputError& problem) {
    tell(problem.what());
    processes.abandon(kInput);
  } catch (const std::exception& failure) {
    tell(failure.what());
    processes.abandon(kFailed);
  }
}
