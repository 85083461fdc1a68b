#include "base/error.hpp"
#include "tests/fuzz/fuzz_file.hpp"
#include "traces/chakra/converted_json.hpp"
#include "traces/chakra/converted_program.hpp"

/// Chakra traces as JSON: any file gives a result or an InputError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const lockstep::testing::FuzzFile file{bytes, size};
  try {
    auto trace = lockstep::chakra::read_converted_json(file.path());
    (void)program_of(trace, graph_of(trace), [](const std::string&) { return 2U; });
  } catch (const lockstep::InputError&) {  // what a broken file should give
  }
  return 0;
}
