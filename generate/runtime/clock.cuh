#pragma once

namespace benchmark {

/// Seconds of a clock of the host that never goes back.
[[nodiscard]] double host_now();

/// Returns at @p moment of host_now(), or at once where that is over. It spins: sleeping is not exact enough.
/// @return by how many seconds it was over
double wait_until(double moment);

}  // namespace benchmark
