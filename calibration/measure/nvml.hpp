#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// The driver's answers on a GPU (NVML); it sets nothing. The library comes with the driver and is looked for
/// when the program runs; without it nothing is known.
class Nvml {
 public:
  /// @p pci_bus_id as cudaDeviceGetPCIBusId writes it
  explicit Nvml(const std::string& pci_bus_id);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  /// Version of the driver, such as `580.159.04`; "" where it is not known.
  [[nodiscard]] std::string driver_version() const;

  /// Clock of the multiprocessors, now, in MHz; 0 where it is not known.
  [[nodiscard]] int sm_clock_mhz() const;

  /// Clocks (MHz), temperature (Celsius) and power limit (W), now: name and value; what is not known is left
  /// out.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> as_found() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;  ///< null where it is not there
  void* device_ = nullptr;
};

}  // namespace lockstep
