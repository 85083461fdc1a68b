#include "base/error.hpp"
#include "calibration/collectives/nccl_tests_log.hpp"
#include "tests/fuzz/fuzz_file.hpp"

/// Output of nccl-tests: any file gives rows or an InputError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const lockstep::testing::FuzzFile file{bytes, size};
  try {
    lockstep::CollectiveMeasurements rows;
    (void)left_out_in_words(lockstep::NcclTestsLog{"all_reduce_perf"}.read(file.path(), rows));
  } catch (const lockstep::InputError&) {  // what a broken file should give
  }
  return 0;
}
