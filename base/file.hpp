#pragma once

#include <filesystem>
#include <string>

namespace lockstep {

/// The whole content of a file.
/// @throws InputError when it cannot be read; for a missing file with the name that was probably meant
std::string read_whole_file(const std::filesystem::path& path);

/// ` - did you mean 'a.yaml'?` over the names beside a file that does not exist, "" where none is close.
std::string sibling_meant(const std::filesystem::path& missing);

}  // namespace lockstep
