#pragma once

#include <string>

namespace lockstep {

/// @p bytes themselves, or what a gzip file of these bytes holds.
/// @throws InputError when a gzip file is broken; @p file_name is for the message
[[nodiscard]] std::string unpacked(const std::string& bytes, const std::string& file_name);

}  // namespace lockstep
