#include <unistd.h>
#include <filesystem>
#include <string>

#include "app/sweep/point_record.hpp"
#include "base/error.hpp"
#include "base/file.hpp"

/// Records of sweeps: any file gives a row or none.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("lockstep-fuzz-" + std::to_string(getpid()));
  try {
    lockstep::write_whole_file(lockstep::record_path(folder, "5"),
                               {reinterpret_cast<const char*>(bytes), size});
    (void)lockstep::read_row(folder, "5");
  } catch (const lockstep::InputError&) {  // a disk that is full
  }
  return 0;
}
