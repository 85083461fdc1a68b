#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

namespace lockstep {

/// A process says that it simulates a point, so that no other does: a file that only one can make. Claims
/// save work and nothing else: two processes that both simulate a point write the same result.
///
/// A claim is stale when the process that made it is gone: on the same machine as soon as it is dead; on
/// another when the claim has not been renewed for kStaleAfter, by the file system's clock or as this process
/// has watched it: a date in the future keeps nobody waiting.
class PointClaims {
 public:
  static constexpr std::chrono::seconds kRenewEvery{10};
  static constexpr std::chrono::seconds kStaleAfter{90};

  /// @param folder of the points
  /// @param patience how long a claim that is not renewed is watched before it is void
  explicit PointClaims(std::filesystem::path folder,
                       std::chrono::steady_clock::duration patience = kStaleAfter);

  /// True: the point is ours. A stale claim is taken over.
  /// @throws InputError where no file can be made
  [[nodiscard]] bool claim(const std::string& key);

  /// Tells others that the work goes on.
  void renew(const std::string& key) const;

  void release(const std::string& key) const;

  /// True while a process that lives has claimed the point.
  [[nodiscard]] bool is_held(const std::string& key);

  /// Machine and process of a claim, and its file, for people.
  [[nodiscard]] std::string holder(const std::string& key) const;

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& key) const;
  [[nodiscard]] std::filesystem::file_time_type now() const;

  std::filesystem::path folder_;
  /// A claim of another machine, as this process saw it first.
  struct Watched {
    std::filesystem::file_time_type renewed;
    std::chrono::steady_clock::time_point since;
  };

  std::string owner_;  ///< what claims of this process say
  std::chrono::steady_clock::duration patience_;
  std::map<std::string, Watched> watched_;
};

/// Machine, number and start of a process, on one line: no two processes share all three.
/// @param process this one's or that of a claim; "" where it does not live on this machine
[[nodiscard]] std::string process_identity(int process);

}  // namespace lockstep
