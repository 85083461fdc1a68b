#include "generate/runtime/clock.cuh"

#include <chrono>

namespace benchmark {

double host_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double wait_until(double moment) {
  const double late = host_now() - moment;
  while (host_now() < moment) {
  }
  return late > 0 ? late : 0;
}

}  // namespace benchmark
