#include "base/error.hpp"
#include "tests/fuzz/fuzz_file.hpp"
#include "traces/kineto/kineto_reader.hpp"

/// Profiles of PyTorch (Kineto): any file gives a result or an InputError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const lockstep::testing::FuzzFile file{bytes, size};
  try {
    (void)lockstep::kineto::read_kineto(file.path());
  } catch (const lockstep::InputError&) {  // what a broken file should give
  }
  return 0;
}
