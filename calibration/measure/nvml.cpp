#include "calibration/measure/nvml.hpp"

#include <dlfcn.h>

#include <array>

namespace lockstep {

/// The functions that are used, as nvml.h declares them (NVML API reference, version 12): 0 is success.
struct Nvml::Library {
  explicit Library(void* handle) : handle_{handle} {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { dlclose(handle_); }

  /// Whether the function is there and succeeded.
  template <class... Arguments>
  [[nodiscard]] bool call(const char* name, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(handle_, name));
    return function != nullptr && function(arguments...) == 0;
  }

 private:
  void* handle_;
};

namespace {

constexpr int kSmClock = 1;      // NVML_CLOCK_SM
constexpr int kMemoryClock = 2;  // NVML_CLOCK_MEM
constexpr int kGpuSensor = 0;    // NVML_TEMPERATURE_GPU

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id) {
  void* const handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return;
  }
  auto library = std::make_unique<Library>(handle);
  if (library->call("nvmlInit_v2") &&
      library->call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device_)) {
    library_ = std::move(library);
  }
}

Nvml::~Nvml() {
  if (library_) {
    static_cast<void>(library_->call("nvmlShutdown"));
  }
}

std::string Nvml::driver_version() const {
  std::array<char, 80> version{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
  const auto size = static_cast<unsigned>(version.size());
  return library_ && library_->call("nvmlSystemGetDriverVersion", version.data(), size) ? version.data() : "";
}

int Nvml::sm_clock_mhz() const {
  unsigned clock = 0;
  const bool known = library_ && library_->call("nvmlDeviceGetClockInfo", device_, kSmClock, &clock);
  return known ? static_cast<int>(clock) : 0;
}

std::vector<std::pair<std::string, std::string>> Nvml::as_found() const {
  std::vector<std::pair<std::string, std::string>> found;
  if (!library_) {
    return found;
  }
  const auto ask = [&](const char* name, const char* function, int which) {
    if (unsigned value = 0; library_->call(function, device_, which, &value)) {
      found.emplace_back(name, std::to_string(value));
    }
  };
  ask("sm_clock_mhz", "nvmlDeviceGetClockInfo", kSmClock);
  ask("sm_clock_most_mhz", "nvmlDeviceGetMaxClockInfo", kSmClock);
  ask("memory_clock_mhz", "nvmlDeviceGetClockInfo", kMemoryClock);
  ask("temperature_celsius", "nvmlDeviceGetTemperature", kGpuSensor);
  if (unsigned milliwatts = 0; library_->call("nvmlDeviceGetEnforcedPowerLimit", device_, &milliwatts)) {
    found.emplace_back("power_limit_w", std::to_string(milliwatts / 1000));
  }
  return found;
}

}  // namespace lockstep
