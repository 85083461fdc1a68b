#include "calibration/measure/machine.cuh"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>

#include "calibration/measure/families/collective.cuh"
#include "calibration/measure/gpu.cuh"

namespace lockstep {
namespace {

int attribute(cudaDeviceAttr which, int device = 0) {
  int value = 0;
  LOCKSTEP_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

cudaDeviceProp properties(int device) {
  cudaDeviceProp found{};
  LOCKSTEP_CHECK(cudaGetDeviceProperties(&found, device));
  return found;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string cuda_version() {
  int runtime = 0;
  LOCKSTEP_CHECK(cudaRuntimeGetVersion(&runtime));
  return version_text(runtime);
}

/// The driver's own version where NVML tells it, else the version of CUDA it is for.
std::string driver_version(const Nvml& nvml) {
  int driver = 0;
  LOCKSTEP_CHECK(cudaDriverGetVersion(&driver));
  const std::string own = nvml.driver_version();
  return own.empty() ? fmt::format("for CUDA {}", version_text(driver)) : own;
}

std::string cpu_name() {
  std::ifstream cpus{"/proc/cpuinfo"};
  for (std::string line; std::getline(cpus, line);) {
    if (line.starts_with("model name")) {
      return line.substr(std::min(line.size(), line.find(':') + 2));
    }
  }
  return "not known";
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "not known";
}

}  // namespace

int visible_gpus() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return count;
}

int gpus_of_each(const Processes& processes) {
  const int visible = visible_gpus();
  if (visible % processes.count_on_node() != 0) {
    fail(fmt::format("{} GPUs do not divide among the {} processes of a node", visible,
                     processes.count_on_node()),
         "gpus_of_each", __FILE__, __LINE__);
  }
  return visible / processes.count_on_node();
}

MachineLimits limits_of(const Processes& processes, int gpus) {
  MachineLimits limits;
  limits.gpus = gpus;
  limits.ranks = gpus * processes.count();
  limits.compute_capability =
      10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
  std::size_t memory = properties(0).totalGlobalMem;
  for (int device = 1; device < gpus; ++device) {
    memory = std::min(memory, properties(device).totalGlobalMem);
  }
  limits.memory = Bytes{static_cast<double>(memory)};
  limits.has_nccl = has_nccl();
  return limits;
}

std::string pci_bus_id(int device) {
  std::array<char, 32> id{};
  LOCKSTEP_CHECK(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device));
  return id.data();
}

MachineDescription description_of(const MachineLimits& limits, const Nvml& nvml) {
  const cudaDeviceProp gpu = properties(0);
  int blas_part[3]{};
  for (int part = 0; part < 3; ++part) {
    LOCKSTEP_CHECK(cublasGetProperty(static_cast<libraryPropertyType>(part), &blas_part[part]));
  }
  MachineDescription machine;
  machine.identity = {
      {"program", "lockstep-measure " LOCKSTEP_VERSION},
      {"gpu", gpu.name},
      {"gpus", std::to_string(limits.gpus)},
      {"ranks", std::to_string(limits.ranks)},
      {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
      {"multiprocessors", std::to_string(gpu.multiProcessorCount)},
      {"memory_bytes", std::to_string(gpu.totalGlobalMem)},
      {"l2_bytes", std::to_string(gpu.l2CacheSize)},
      {"cpu", cpu_name()},
      {"driver", driver_version(nvml)},
      {"cuda", cuda_version()},
      {"cublas", fmt::format("{}.{}.{}", blas_part[0], blas_part[1], blas_part[2])},
      {"nccl", has_nccl() ? nccl_version() : "none"},
  };
  machine.found = nvml.as_found();
  machine.found.emplace_back("host", host_name());
  machine.found.emplace_back("date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))));
  return machine;
}

}  // namespace lockstep
