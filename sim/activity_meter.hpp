#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ops/collectives/collective.hpp"

namespace lockstep {

/// Uses of a rank's GPU time: every moment counts once, under the first of these that applies.
struct Activity {
  static constexpr std::size_t kKinds = static_cast<std::size_t>(CollectiveKind::Barrier) + 1;
  double compute = 0;                             ///< a compute kernel runs, s
  std::array<double, kKinds> exposed_transfer{};  ///< none does, and a collective of this kind transfers, s
  std::array<double, kKinds> exposed_waiting{};   ///< nor that, but one waits for other ranks, s
  double copy = 0;                                ///< only a copy runs, s
  [[nodiscard]] double busy() const;              ///< the sum: some stream is active
};

/// Adds up one rank's Activity while its streams run ahead: intervals wait until nothing earlier can still
/// come.
class ActivityMeter {
 public:
  explicit ActivityMeter(std::size_t streams) : lanes_(streams) {}

  void compute(std::uint8_t stream, double start, double end) { add(stream, kCompute, start, end); }
  void copy(std::uint8_t stream, double start, double end) { add(stream, kCopy, start, end); }
  void collective(std::uint8_t stream, CollectiveKind kind, double start, double met, double end);

  [[nodiscard]] bool is_full() const { return pending_ >= sweep_at_; }

  /// Counts everything before @p watermark; nothing that begins earlier may be added afterwards.
  void sweep(double watermark);

  [[nodiscard]] const Activity& total() const { return total_; }

 private:
  static constexpr std::size_t kLeastToSweep = 512;
  static constexpr std::uint8_t kCompute = 0;
  static constexpr std::uint8_t kTransfer = 1;  // + kind
  static constexpr std::uint8_t kWaiting = kTransfer + Activity::kKinds;
  static constexpr std::uint8_t kCopy = kWaiting + Activity::kKinds;
  struct Interval {
    double start;
    double end;
    std::uint8_t what;
  };
  struct Lane {
    std::vector<Interval> intervals;
    std::size_t next = 0;
  };
  void add(std::uint8_t stream, std::uint8_t what, double start, double end);
  void count(std::uint8_t what, double seconds);
  void forget_swept();

  std::vector<Lane> lanes_;
  std::size_t pending_ = 0;
  std::size_t sweep_at_ = kLeastToSweep;
  double swept_ = 0;
  Activity total_;
};

}  // namespace lockstep
