#include "traces/json_outline.hpp"

#include "base/error.hpp"
#include "tests/fuzz/fuzz_file.hpp"

/// Files of an unknown kind, of which only a message speaks: any file gives a result or an InputError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const lockstep::testing::FuzzFile file{bytes, size};
  try {
    (void)lockstep::beginning_of(file.path());
    if (lockstep::begins_as_json(file.path())) {
      (void)to_text(lockstep::outline_of(file.path()));
    }
  } catch (const lockstep::InputError&) {  // what a broken file should give
  }
  return 0;
}
