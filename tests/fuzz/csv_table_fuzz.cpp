#include <string>

#include "base/error.hpp"
#include "calibration/csv_table.hpp"

/// Tables of measurements: any text gives a table or an InputError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const auto table =
        lockstep::CsvTable::from_text({reinterpret_cast<const char*>(bytes), size}, "fuzz.csv");
    for (std::size_t row = 0; row < table.rows() && table.has("size"); ++row) {
      (void)table.number(row, "size");
    }
    (void)table.facts("gpu");
  } catch (const lockstep::InputError&) {  // what a broken file should give
  }
  return 0;
}
