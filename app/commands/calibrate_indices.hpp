#pragma once

#include <filesystem>
#include <functional>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace lockstep {

/// Says on stdout what a model's table takes for the indices in @p file (a line a bag), and how far the
/// different rows of smaller batches, which were not learned from, are off. @p rows of the table. Returns the
/// exit code.
/// @throws InputError for what is no index file, std::invalid_argument for one with too few bags
int calibrate_indices_command(const std::filesystem::path& file, double rows);

/// Registers `lockstep calibrate indices`; when it was called, @p action runs it.
void add_calibrate_indices(CLI::App& calibrate, std::function<int()>& action);

}  // namespace lockstep
