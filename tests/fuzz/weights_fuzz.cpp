#include "base/error.hpp"
#include "search/learned/weights_file.hpp"
#include "tests/fuzz/fuzz_file.hpp"

/// Trained policies: any file gives a policy or an InputError, and one that is written and read is the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace lockstep::sharding::learned;
  const lockstep::testing::FuzzFile file{bytes, size};
  try {
    const auto policy = read_weights(file.path());
    const std::string text = weights_json(*policy);
    const lockstep::testing::FuzzFile written{reinterpret_cast<const std::uint8_t*>(text.data()),
                                              text.size()};
    if (weights_json(*read_weights(written.path())) != text) {
      __builtin_trap();
    }
  } catch (const lockstep::InputError&) {  // what a broken file should give
  }
  return 0;
}
