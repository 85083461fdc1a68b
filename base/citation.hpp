#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

/// Files by their names without folders; those that share one as they were given.
[[nodiscard]] std::vector<std::string> told_apart(const std::vector<std::filesystem::path>& files);

/// Files as a source names them: `a.log, b.log`, at most eight of them; of more their folders with what their
/// names end in, and how many they are: `runs/*.log (120 files)`.
[[nodiscard]] std::string cited(const std::vector<std::filesystem::path>& files);

/// Twice the same rows would count twice. @throws InputError for a file that is given twice
void refuse_twice(const std::vector<std::filesystem::path>& files);

}  // namespace lockstep
