#include "base/error.hpp"
#include "tests/fuzz/fuzz_file.hpp"
#include "traces/chakra/program_reader.hpp"

/// Chakra traces that Lockstep wrote: any file gives a result or an InputError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const lockstep::testing::FuzzFile file{bytes, size};
  try {
    (void)lockstep::chakra::read_program(file.path());
  } catch (const lockstep::InputError&) {  // what a broken file should give
  }
  return 0;
}
