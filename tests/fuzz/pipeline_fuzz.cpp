#include "base/error.hpp"
#include "tests/fuzz/fuzz_file.hpp"
#include "traces/pipeline/step_order.hpp"

/// Timelines of pipelines, and what waits for what in them: any file gives a result or an InputError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const lockstep::testing::FuzzFile file{bytes, size};
  try {
    const auto timeline = lockstep::pipeline::read_timeline(file.path());
    for (const std::int64_t step : timeline.steps) {
      (void)order_of(timeline, step);
    }
  } catch (const lockstep::InputError&) {  // what a broken file should give
  }
  return 0;
}
