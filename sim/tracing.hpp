#pragma once

/// @file
/// SimGrid's own tracing of a simulation: a Paje file with the hosts, the links and the actors.

#include <span>
#include <string>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// Checks a setting `KEY:VALUE` of SimGrid's tracing, as SimGrid's `--cfg` takes it.
/// @throws std::invalid_argument for another key, which may change the answer, or a value that does not fit
void check_tracing_setting(const std::string& setting);

/// Whether @p settings turn tracing on.
[[nodiscard]] bool asks_for_tracing(std::span<const std::string> settings);

/// The file that tracing writes.
[[nodiscard]] std::string traced_file(std::span<const std::string> settings);

/// @p settings, with dates in nanoseconds where they do not say otherwise: SimGrid writes microseconds.
[[nodiscard]] std::vector<std::string> with_fine_dates(std::span<const std::string> settings);

/// Writes the load of each link into SimGrid's trace whenever it changes, as the variable `bandwidth_used`.
/// For networks whose transfers SimGrid does not know.
class LinkLoadTrace {
 public:
  /// @param fabric must outlive it; its links are in the platform as far as they are loaded
  explicit LinkLoadTrace(const Fabric& fabric);

  /// @param more bytes a second, negative when it gets less, s
  void add(LinkId link, double more, double date);

 private:
  const Fabric& fabric_;
  std::vector<double> loads_;  // by link, bytes a second
};

}  // namespace lockstep
