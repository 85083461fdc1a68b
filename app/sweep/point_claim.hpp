#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace lockstep {

/// A process says that it simulates a point, so that no other does: a file that only one can make. Claims
/// save work and nothing else: two processes that both simulate a point write the same result.
///
/// A claim is stale when the process that made it is gone: on the same machine as soon as it is dead; on
/// another when the claim has not been renewed for kStaleAfter of the file system's clock.
class PointClaims {
 public:
  static constexpr std::chrono::seconds kRenewEvery{10};
  static constexpr std::chrono::seconds kStaleAfter{90};

  /// @param folder of the points
  explicit PointClaims(std::filesystem::path folder);

  /// True: the point is ours. A stale claim is taken over.
  /// @throws InputError where no file can be made
  [[nodiscard]] bool claim(const std::string& key) const;

  /// Tells others that the work goes on.
  void renew(const std::string& key) const;

  void release(const std::string& key) const;

  /// True while a process that lives has claimed the point.
  [[nodiscard]] bool is_held(const std::string& key) const;

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& key) const;
  [[nodiscard]] std::filesystem::file_time_type now() const;

  std::filesystem::path folder_;
  std::string owner_;  ///< what claims of this process say
};

/// Machine, number and start of a process, on one line: no two processes share all three.
/// @param process this one's or that of a claim; "" where it does not live on this machine
[[nodiscard]] std::string process_identity(int process);

}  // namespace lockstep
