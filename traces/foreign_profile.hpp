#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// The kind of profile that has processes of this name in a Chrome trace: `a profile of JAX/XLA or
/// TensorFlow, which is not read`. Empty: not known, or PyTorch's.
[[nodiscard]] std::string foreign_process(std::string_view process_name);

/// The same of a file that is no Chrome trace, by what it begins with: XPlanes (JAX, TensorFlow), rocprof's
/// JSON, databases that Nsight Systems did not export. Empty: not known.
/// @throws InputError when it cannot be read
[[nodiscard]] std::string foreign_file(const std::string& file_name);

/// Whether a file begins as a database of SQLite does. @throws InputError when it cannot be read
[[nodiscard]] bool is_database(const std::string& file_name);

/// @throws InputError that says whose profile the file is, where foreign_file() knows it
void refuse_foreign(const std::string& file_name);

}  // namespace lockstep
